internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// Controls the load of one task and tracks its progress.
final class LoadTaskControl: TransferControl {
    let sentProgress = ProgressBoard()
    let receivedProgress = ProgressBoard()

    private struct State {
        var machine: LoadTaskStateMachine
        /// The deadline of the whole load, once it has begun.
        var deadline: ContinuousClock.Instant?
        var head: HTTPResponse?
        /// The Swift task that runs the load, while it does.
        var work: Task<Void, Never>?
    }

    private let state: Lock<State>

    init(priority: Double) { state = Lock(State(machine: LoadTaskStateMachine(priority: priority))) }

    private func withMachine<Result: Sendable>(_ body: (inout LoadTaskStateMachine) -> Result) -> Result {
        state.withLock { body(&$0.machine) }
    }

    /// Runs a decision; the caller begins or ends the load itself.
    @discardableResult
    func decide(
        _ decision: (inout LoadTaskStateMachine) -> LoadTaskStateMachine.Actions
    ) -> LoadTaskStateMachine.Actions {
        let actions = withMachine(decision)
        for proceeder in actions.proceeders { proceeder.resume() }
        for listener in actions.listeners { listener() }
        return actions
    }

    var phase: LoadTaskState { withMachine { $0.state } }
    var isCancelled: Bool { withMachine { $0.isCancelled } }

    /// The head of the answer once it has arrived.
    var head: HTTPResponse? { state.withLock { $0.head } }

    func answered(_ head: HTTPResponse) { state.withLock { $0.head = head } }

    /// Registers the Swift task that runs the load from now on. An earlier cancellation found nothing to cancel.
    func workStarted(_ work: Task<Void, Never>) {
        let isCancelled = state.withLock { state in
            state.work = work
            return state.machine.isCancelled
        }
        if isCancelled { work.cancel() }
    }

    func cancelWork() { state.withLock { $0.work }?.cancel() }

    /// There is a value or an error.
    func workEnded() { state.withLock { $0.work = nil } }

    /// The load has ended, including its body.
    func ended() {
        decide { $0.ended() }
        sentProgress.finish()
        receivedProgress.finish()
    }

    // MARK: TransferControl

    var isSuspended: Bool { withMachine { $0.isSuspended } }
    var priority: Double { withMachine { $0.priority } }

    func attach(_ listener: @escaping @Sendable () -> Void) -> UInt64 { withMachine { $0.attached(listener) } }

    func detach(_ number: UInt64) { withMachine { $0.detached(number) } }

    func began(until deadline: ContinuousClock.Instant) { state.withLock { $0.deadline = deadline } }

    func waits(_ isWaiting: Bool) { withMachine { $0.waits(isWaiting) } }

    func sent(_ bytes: Int64, of total: Int64?) {
        sentProgress.set(TransferProgress(completed: bytes, total: total))
    }

    func proceed() async throws(LoadError) {
        if isSuspended, !isCancelled, !Task.isCancelled { try await waitUntilResumed() }
        if isCancelled || Task.isCancelled { throw .cancelled() }
    }

    private func waitUntilResumed() async throws(LoadError) {
        guard let deadline = state.withLock({ $0.deadline }) else { return await park() }
        guard await untilDeadline(deadline, { await self.park() }) != nil || Task.isCancelled else {
            throw LoadError(.resourceTimeout, "The time for the whole load is over; it was suspended.")
        }
    }

    private func park() async {
        let number = withMachine { $0.drawNumber() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { proceeder in
                decide { $0.proceeds(number, proceeder) }
            }
        } onCancel: {
            decide { $0.gaveUp(number) }
        }
    }
}
