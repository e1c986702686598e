internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// What carries a task out: one task of Swift's, from the first resume to the value. Docs/Concurrency.md lists it.
final class LoadTaskWork<Value: Sendable>: Sendable {
    typealias Load = @Sendable (LoadRequest, LoadTaskControl) async throws(LoadError) -> Value

    let control: LoadTaskControl
    let outcome = Outcome<Value>()
    private let request: LoadRequest
    private let begin: EarliestBegin
    private let delegates: DelegateResponder
    /// Whether the value has a body that comes yet, with which the task ends.
    private let hasBody: Bool
    private let load: Load
    private let running = Lock<Task<Void, Never>?>(nil)

    init(
        _ request: LoadRequest, _ options: LoadTaskOptions, asking delegates: DelegateResponder, hasBody: Bool = false,
        _ load: @escaping Load
    ) {
        self.request = request
        self.delegates = delegates
        self.hasBody = hasBody
        self.load = load
        begin = options.earliestBegin
        control = LoadTaskControl(priority: options.priority)
    }

    func decide(_ decision: (inout LoadTaskStateMachine) -> LoadTaskStateMachine.Actions) {
        let actions = control.decide(decision)
        if actions.starts { start() }
        if actions.endsUnstarted { complete(.failure(.cancelled())) }
        if actions.cancels { running.withLock { $0 }?.cancel() }
    }

    private func start() {
        let loads = delegates.session.running
        do throws(LoadError) {
            try loads.begin()
        } catch {
            return complete(.failure(error))
        }
        let task = Task {
            await run()
            loads.end()
        }
        running.withLock { $0 = task }
        // A cancellation that came in between found no task.
        if control.isCancelled { task.cancel() }
    }

    private func run() async {
        do throws(LoadError) {
            complete(.success(try await load(try await requestToLoad(), control)))
        } catch {
            complete(.failure(error))
        }
    }

    private func complete(_ result: Result<Value, LoadError>) {
        let isFailure = if case .failure = result { true } else { false }
        if !hasBody || isFailure { control.ended() }
        outcome.set(result)
        running.withLock { $0 = nil }
    }

    // MARK: Before the load

    private func requestToLoad() async throws(LoadError) -> LoadRequest {
        try await control.proceed()
        guard begin.isDelayed else { return request }
        control.waits(true)
        try await begin.wait()
        control.waits(false)
        try await control.proceed()
        switch await delegates.begins(request) {
        case .notImplemented, .proceed: return request
        case .change(let request): return request
        case .cancel: throw .cancelled()
        }
    }
}

/// A result that is set once, and the tasks that wait for it.
final class Outcome<Value: Sendable>: Sendable {
    private typealias Waiting = Waiter<Result<Value, LoadError>>

    private struct State {
        var result: Result<Value, LoadError>?
        var waiters: [UInt64: Waiting] = [:]
    }

    private let state = Lock(State())

    /// The first call counts.
    func set(_ result: Result<Value, LoadError>) {
        let waiters = state.withLock { state in
            guard state.result == nil else { return [Waiting]() }
            state.result = result
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(returning: result) }
    }

    /// - Throws: the failure; `cancelled` if the caller is cancelled before.
    func value() async throws(LoadError) -> Value {
        let result = await state.wait(orCancelled: .failure(.cancelled())) { state, waiter in
            if let result = state.result { return result }
            state.waiters[waiter.number] = waiter
            return nil
        } leave: { state, number in
            state.waiters.removeValue(forKey: number)
        }
        return try result.get()
    }
}
