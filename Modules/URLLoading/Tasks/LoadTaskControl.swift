internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// What steers the load of one task, and follows how far it comes.
final class LoadTaskControl: TransferControl {
    let sentProgress = ProgressBoard()
    let receivedProgress = ProgressBoard()
    private let machine: Lock<LoadTaskStateMachine>
    private let deadline = Lock<ContinuousClock.Instant?>(nil)
    private let response = Lock<HTTPResponse?>(nil)

    init(priority: Double) { machine = Lock(LoadTaskStateMachine(priority: priority)) }

    /// Runs a decision; what it does to the load itself is the caller's.
    @discardableResult
    func decide(
        _ decision: (inout LoadTaskStateMachine) -> LoadTaskStateMachine.Actions
    ) -> LoadTaskStateMachine.Actions {
        let actions = machine.withLock { decision(&$0) }
        for proceeder in actions.proceeders { proceeder.resume() }
        for listener in actions.listeners { listener() }
        return actions
    }

    var state: LoadTaskState { machine.withLock { $0.state } }
    var isCancelled: Bool { machine.withLock { $0.isCancelled } }

    /// The head of the answer, once it is there.
    var head: HTTPResponse? { response.withLock { $0 } }

    func answered(_ head: HTTPResponse) { response.withLock { $0 = head } }

    /// The load is over, its body with it.
    func ended() {
        decide { $0.ended() }
        sentProgress.finish()
        receivedProgress.finish()
    }

    // MARK: TransferControl

    var isSuspended: Bool { machine.withLock { $0.isSuspended } }
    var priority: Double { machine.withLock { $0.priority } }

    func attach(_ listener: @escaping @Sendable () -> Void) -> UInt64 { machine.withLock { $0.attached(listener) } }

    func detach(_ number: UInt64) { machine.withLock { $0.detached(number) } }

    func began(until deadline: ContinuousClock.Instant) { self.deadline.withLock { $0 = deadline } }

    func waits(_ isWaiting: Bool) { machine.withLock { $0.waits(isWaiting) } }

    func sent(_ octets: Int64, of total: Int64?) {
        sentProgress.set(TransferProgress(completed: octets, total: total))
    }

    func proceed() async throws(LoadError) {
        if isSuspended, !isCancelled, !Task.isCancelled { try await waitUntilResumed() }
        if isCancelled || Task.isCancelled { throw .cancelled() }
    }

    private func waitUntilResumed() async throws(LoadError) {
        guard let deadline = deadline.withLock({ $0 }) else { return await park() }
        guard await untilDeadline(deadline, { await self.park() }) != nil || Task.isCancelled else {
            throw LoadError(.resourceTimeout, "The time for the whole load is over; it was suspended.")
        }
    }

    private func park() async {
        let number = machine.withLock { $0.drawNumber() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { proceeder in
                decide { $0.proceeds(number, proceeder) }
            }
        } onCancel: {
            decide { $0.gaveUp(number) }
        }
    }
}
