internal import Logging
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// Repeats a request that found no connection when one may be possible: only if nothing of it was sent.
struct ConnectivityWaiter: Sendable {
    /// Whether requests wait by default.
    var isOn = false
    var infrastructure: (any InfrastructureStatus)?
    var rule = ConnectivityRule()

    /// Whether a request waits after its connection failed.
    func waits(after failure: LoadError, _ request: LoadRequest) -> Bool {
        waits(after: failure, request.options)
    }

    func waits(after failure: LoadError, _ options: LoadOptions) -> Bool {
        ConnectivityRule.isLackOfConnection(failure.code) && options.waitsForConnectivity ?? isOn
    }

    /// Tries again until there is an answer or another failure.
    ///
    /// - Parameter first: the failure of the first try.
    /// - Throws: the last try's error if it is of another kind; `resourceTimeout` at the load's deadline; the reason of
    ///   a withdrawal or of the session's end meanwhile.
    func load(
        _ request: LoadRequest, in context: LoadContext, after first: LoadError,
        trying attempt: () async throws(LoadError) -> LoadResponse
    ) async throws(LoadError) -> LoadResponse {
        var failure = first
        var tries = 0
        while waits(after: failure, request) {
            try await pause(after: tries, failure, in: context)
            context.recorder?.decided(.retry, "\(failure.code)", because: "waited for a connection")
            do throws(LoadError) {
                return try await attempt()
            } catch {
                failure = error
            }
            tries += 1
        }
        throw failure
    }

    /// Waits until another try makes sense. Before the first, the delegate is told.
    ///
    /// - Parameter tries: how many there were since the first failure.
    /// - Throws: as ``load(_:in:after:trying:)``, but for the tries' own errors.
    func pause(after tries: Int, _ failure: LoadError, in context: LoadContext) async throws(LoadError) {
        if tries == 0, let responder = context.responder as? DelegateResponder {
            // A delegate that takes too long is given up; the wait then throws.
            _ = try await appsAnswer(until: context.deadline, under: context.permission) {
                await responder.waitsForConnectivity()
            }
        }
        context.logger.debug(
            "Waiting for a connection.",
            metadata: ["request": "\(context.requestID)", "failure": "\(failure.shortDescription)"])
        let pause = rule.pause(after: tries, failure.code, infrastructure?.infrastructure ?? .unknown)
        context.control?.waits(true)
        try await wait(pause, after: failure, in: context)
        context.control?.waits(false)
        try await context.control?.proceed()
    }

    private func wait(
        _ pause: ConnectivityRule.Pause, after failure: LoadError, in context: LoadContext
    ) async throws(LoadError) {
        let infrastructure = pause.endsWithInfrastructure ? infrastructure : nil
        let wake = min(context.deadline, .now + pause.longest)
        _ = try await permittedWait(until: wake, under: context.permission) {
            await Self.awaitReturn(of: infrastructure)
        }
        guard ContinuousClock.now < context.deadline else {
            throw LoadError(
                .resourceTimeout, at: failure.step, "No connection came about in the time for the whole load.",
                underlying: failure)
        }
    }

    /// Returns when the infrastructure is reachable; without its reports, only when the task is cancelled.
    private static func awaitReturn(of infrastructure: (any InfrastructureStatus)?) async {
        if let infrastructure {
            for await state in infrastructure.infrastructureChanges() where state == .reachable { return }
        }
        try? await Task.sleep(until: .now + .seconds(86_400), clock: .continuous)
    }
}

extension ConnectivityWaiter {
    init(_ configuration: SessionConfiguration, _ engine: LoadingEngine) {
        isOn = configuration.waitsForConnectivity
        infrastructure = engine.infrastructure
    }
}

/// When a request that found no connection is tried again: values only.
struct ConnectivityRule: Sendable {
    struct Pause: Equatable {
        var longest: Duration
        /// Whether the return of the infrastructure ends it.
        var endsWithInfrastructure: Bool
    }

    /// Before the second try; doubled before each further one.
    var shortest = Duration.seconds(1)
    var longest = Duration.seconds(30)
    /// The pause while the infrastructure is reported as unreachable. The report may be wrong, so the request is still
    /// tried.
    var withoutInfrastructure = Duration.seconds(60)

    /// The failures that say that there is no connection, all of them before a request is sent.
    static func isLackOfConnection(_ code: LoadError.Code) -> Bool {
        [.cannotFindHost, .cannotConnect, .relayUnreachable, .proxyUnreachable].contains(code)
    }

    /// - Parameter tries: how many there were since the first failure.
    func pause(after tries: Int, _ code: LoadError.Code, _ infrastructure: InfrastructureState) -> Pause {
        if code == .relayUnreachable, infrastructure == .unreachable {
            return Pause(longest: withoutInfrastructure, endsWithInfrastructure: true)
        }
        return Pause(longest: min(longest, shortest * (1 << min(tries, 16))), endsWithInfrastructure: false)
    }
}
