internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// One request in the hands of a plugin's handler.
///
/// The handler runs in a task of its own, because it writes the body after the caller got the head. The task ends
/// with the handler's return; until then it is cancelled by the caller's cancellation, by the body's being
/// discarded, by the deadline and by ``end(with:)``. Docs/Concurrency.md lists it.
final class HandlerLoad: Sendable {
    /// How a load came to its head.
    enum Outcome: Sendable {
        case response(LoadResponse)
        /// The next handler is asked.
        case declined
        case failed(LoadError)
    }

    /// The session that the load belongs to.
    let tag: String
    /// The session's own way for `http` and `https`, which a handler may use.
    let http: LoadChain
    let tunnels: any RoutedTunnels
    private let state = Lock(HandlerLoadStateMachine())
    private let pipe: BodyPipe

    init(tag: String, http: LoadChain, tunnels: any RoutedTunnels) {
        self.tag = tag
        self.http = http
        self.tunnels = tunnels
        pipe = BodyPipe(hooks: BodyPipe.Hooks(wasDiscarded: { [state] in state.withLock { $0.task }?.cancel() }))
    }

    /// Runs the handler; returns with its head. `onEnd` is called once, when the handler has returned.
    func run(
        _ handler: any RequestHandler, _ request: LoadRequest, in context: LoadContext,
        onEnd: @escaping @Sendable () -> Void
    ) async -> Outcome {
        let task = Task {
            await perform(handler, request, in: context)
            onEnd()
        }
        if state.withLock({ $0.started(task) }) { task.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                perform(state.withLock { $0.callerWaits(continuation) })
            }
        } onCancel: {
            end(with: .cancelled())
        }
    }

    /// Ends the load from outside.
    func end(with failure: LoadError) {
        finish(failure)
        state.withLock { $0.task }?.cancel()
    }
}

// MARK: The handler's side

extension HandlerLoad: ResponseTarget {
    func begin(_ head: HTTPResponse, url: RequestURL, facts: LoadFacts) throws(LoadError) {
        guard state.withLock({ $0.begins() }) else {
            throw LoadError(.handlerFailed, "A handler begins once, and before its load has ended.")
        }
        // Made only now: a body that is released unread would end the transfer.
        let response = LoadResponse(head: head, url: url, body: ResponseBody(pipe), facts: facts)
        perform(state.withLock { $0.answered(.response(response)) })
    }

    func write(_ bytes: [UInt8]) async throws(LoadError) {
        guard state.withLock({ $0.hasBegun }) else {
            throw LoadError(.handlerFailed, "A handler hands over the head before the body.")
        }
        try await pipe.write(bytes)
    }

    func keep(_ trailers: HTTPFields?) { state.withLock { $0.trailers = trailers } }

    private func perform(
        _ handler: any RequestHandler, _ request: LoadRequest, in context: LoadContext
    ) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { self.finish(await self.invoke(handler, request, in: context)) }
            group.addTask { await self.expire(at: context.deadline) }
            _ = await group.next()
            group.cancelAll()
        }
    }

    private func invoke(
        _ handler: any RequestHandler, _ request: LoadRequest, in context: LoadContext
    ) async -> LoadError? {
        let writer = ResponseWriter(self, url: request.url, context: context)
        do {
            try await handler.load(request, into: writer)
            return state.withLock { $0.hasBegun }
                ? nil : LoadError(.handlerFailed, "The handler returned without an answer.")
        } catch let error as LoadError {
            return error
        } catch is RequestDeclined {
            if let action = state.withLock({ $0.declined() }) {
                perform(action)
                return nil
            }
            return LoadError(.handlerFailed, "The handler passed the request on after it had begun.")
        } catch is CancellationError {
            return .cancelled()
        } catch {
            return LoadError(.handlerFailed, "The protocol handler failed.", underlying: error)
        }
    }

    /// The load ends at its deadline, though the handler may need time to end, or not obey.
    private func expire(at deadline: ContinuousClock.Instant) async {
        guard (try? await deadline.wait()) != nil else { return }
        finish(LoadError(.resourceTimeout, "The handler took longer than the resource time-out."))
    }

    private func finish(_ failure: LoadError?) {
        perform(state.withLock { $0.ended(failure) })
        pipe.finish(failure, trailers: state.withLock { $0.trailers })
    }

    private func perform(_ action: HandlerLoadStateMachine.Action?) {
        guard let action else { return }
        action.caller.resume(returning: action.outcome)
    }
}
