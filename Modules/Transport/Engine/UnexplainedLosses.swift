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
        guard !isShutDown, let ask = whenRelayBreaks, share.losses.begin() else { return }
        // Unstructured tasks: the loop cannot await child tasks. A question that takes longer than the loss may wait
        // goes on by itself, since its answer still counts. See Docs/Concurrency.md.
        let limit = Task<Void, Never> { try? await Task.sleep(for: Self.longestQuestion) }
        let asking = Task {
            await ask()
            limit.cancel()
        }
        let report = Task {
            await limit.value
            // Orders posted meanwhile, such as the end of all members, are handled before the losses are reported.
            handlePosted()
            for loss in share.losses.end() { loss.member.pool?.tell(loss) }
            askForReason()
        }
        question = LossQuestion(asking: asking, limit: limit, report: report)
    }

    /// Resumes the caller of a shutdown. The report of the last question runs on the loop, which may end afterwards.
    func endQuestion(_ continuation: CheckedContinuation<Void, Never>) {
        guard let question else { return continuation.resume() }
        question.cancel()
        Task {
            await question.report.value
            continuation.resume()
        }
    }
}

/// The tasks of a question for the reason of losses.
struct LossQuestion {
    /// The question to the gateway. A shutdown does not wait for it: it uses nothing of the loop, and an answer may
    /// take long.
    let asking: Task<Void, Never>
    /// Ends with the answer, or when the losses have waited long enough.
    let limit: Task<Void, Never>
    let report: Task<Void, Never>

    func cancel() {
        asking.cancel()
        limit.cancel()
    }
}
