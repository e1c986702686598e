internal import SallyportCore

/// A member whose connection through a relay broke; its pool still has it.
struct UnexplainedLoss: Sendable {
    let member: any PoolMember
    let failure: LoadError
}

extension LoadError {
    /// Whether this failure may be how a relay ends or refuses a connection because of a withdrawal or a new policy.
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
    /// Reports a loss through a relay to its member once it is known whether the administrator caused it. A withdrawal
    /// or a new policy that is found meanwhile ends the member with its own error, since the member is still in its
    /// pool.
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
        // Unstructured tasks: the loop cannot await child tasks. A question that takes longer than the loss may wait
        // goes on by itself, since its answer still counts. See Docs/Concurrency.md.
        let limit = Task { try? await Task.sleep(for: Self.longestQuestion) }
        Task {
            await ask()
            limit.cancel()
        }
        Task {
            await limit.value
            // Orders posted meanwhile, such as the end of all members, are handled before the losses are reported.
            handlePosted()
            for loss in asked { loss.member.pool?.tell(loss) }
            isAsking = false
            askForReason()
        }
    }
}
