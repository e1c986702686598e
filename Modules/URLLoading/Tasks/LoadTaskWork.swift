internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// Runs a task: one Swift task from the first resume to the value. Docs/Concurrency.md lists it.
final class LoadTaskWork<Value: Sendable>: Sendable {
    typealias Load = @Sendable (LoadRequest, LoadTaskControl) async throws(LoadError) -> Value

    let control: LoadTaskControl
    let outcome = AwaitedValue<Result<Value, LoadError>>()
    private let request: LoadRequest
    private let begin: EarliestBegin
    private let delegates: DelegateResponder
    /// Whether the value has a body that comes yet, with which the task ends.
    private let hasBody: Bool
    private let load: Load

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
        if actions.cancels { control.cancelWork() }
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
        control.workStarted(task)
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
        control.workEnded()
    }

    // MARK: Before the load

    private func requestToLoad() async throws(LoadError) -> LoadRequest {
        try await control.proceed()
        guard begin.isDelayed else { return request }
        control.waits(true)
        try await begin.wait()
        control.waits(false)
        try await control.proceed()
        switch try await decision() {
        case .notImplemented, .proceed: return request
        case .change(let request): return request
        case .cancel: throw .cancelled()
        }
    }

    /// The app's decision on a task whose time has come. The app is not asked about a task that may not load any more.
    private func decision() async throws(LoadError) -> DelayedBegin {
        let session = delegates.session
        try session.admit()
        let limit = request.differing?.options.resourceTimeout ?? session.configuration.resourceTimeout
        let decision = try await appsAnswer(until: .now + limit, under: session.life) { [delegates, request] in
            await delegates.begins(request)
        }
        guard let decision else {
            throw LoadError(.resourceTimeout, "The app did not decide in the time for the load whether it begins.")
        }
        return decision
    }
}

extension AwaitedValue {
    /// - Throws: the failure; `cancelled` if the caller is cancelled before.
    func result<Success: Sendable>() async throws(LoadError) -> Success where Value == Result<Success, LoadError> {
        guard let result = await wait() else { throw .cancelled() }
        return try result.get()
    }
}
