internal import SallyportCore

/// A member whose connection through a relay broke; its pool still has it.
struct UnexplainedLoss: Sendable {
    let member: any PoolMember
    let failure: LoadError
}

extension LoadError {
    /// Whether a relay that ends or refuses a connection for a withdrawal, or for a new policy, looks like this from here.
    var mayHideReason: Bool {
        switch code {
        case .connectionLost: true
        case .relayRefused: (underlying as? RelayRefusal)?.isForbidden == true
        case .clientCertificateRefused: step == .relayTLS
        default: false
        }
    }
}

extension TransportEngine {
    /// Tells a member of a loss through a relay once it is known whether the administrator ended it. A withdrawal, or a
    /// new policy, ends the member with its own error meanwhile, since the member is still in its pool.
    func explain(_ loss: UnexplainedLoss) {
        losses.append(loss)
        askForReason()
    }

    /// How long a loss waits for its reason.
    private static var longestQuestion: Duration { .seconds(2) }

    private func askForReason() {
        guard let ask = whenRelayBreaks, !isAsking, !losses.isEmpty else { return }
        isAsking = true
        let asked = losses
        losses = []
        // Without parents: the loop has nothing to wait with, and a question that takes longer than the loss can wait goes
        // on by itself, since what it learns counts all the same. Docs/Concurrency.md.
        let limit = Task { try? await Task.sleep(for: Self.longestQuestion) }
        Task {
            await ask()
            limit.cancel()
        }
        Task {
            await limit.value
            // What was posted meanwhile, the end of all among it, is handled before the losses are told.
            handlePosted()
            for loss in asked { loss.member.pool?.tell(loss) }
            isAsking = false
            askForReason()
        }
    }
}
