internal import SallyportCore

/// A member whose connection through a relay broke; its pool still has it.
struct UnexplainedLoss {
    let member: any PoolMember
    let failure: LoadError
}

/// The losses of one loop that were not reported yet. On the loop only.
final class UnexplainedLosses {
    /// Those whose reason is being asked for.
    private var asked: [UnexplainedLoss] = []
    /// Those that came since.
    private var waiting: [UnexplainedLoss] = []
    private var isAsking = false

    func add(_ loss: UnexplainedLoss) { waiting.append(loss) }

    /// - Returns: whether there is a reason to ask for now.
    func begin() -> Bool {
        guard !isAsking, !waiting.isEmpty else { return false }
        isAsking = true
        swap(&asked, &waiting)
        return true
    }

    /// The reason may be known.
    func end() -> [UnexplainedLoss] {
        isAsking = false
        defer { asked = [] }
        return asked
    }
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
    /// How long a loss waits for its reason.
    private static var longestQuestion: Duration { .seconds(2) }

    /// Reports the losses through relays to their members once it is known whether the administrator caused them. A
    /// withdrawal or a new policy that is found meanwhile ends the member with its own error, since the member is still
    /// in its pool.
    func askForReason() {
        guard let ask = whenRelayBreaks, share.losses.begin() else { return }
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
            for loss in share.losses.end() { loss.member.pool?.tell(loss) }
            askForReason()
        }
    }
}
