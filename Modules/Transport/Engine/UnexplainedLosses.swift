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

    private func askForReason() {
        guard let ask = whenRelayBreaks, !isAsking, !losses.isEmpty else { return }
        isAsking = true
        let asked = losses
        losses = []
        // Without a parent: the loop has nothing to wait with. Docs/Concurrency.md. What was posted while it asked, the
        // end of all among it, is handled before the losses are told.
        Task {
            await ask()
            handlePosted()
            for loss in asked { loss.member.pool?.tell(loss) }
            isAsking = false
            askForReason()
        }
    }
}
