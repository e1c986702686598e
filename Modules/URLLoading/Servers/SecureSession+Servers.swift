internal import HTTPTypes
internal import Logging
public import SallyportBase
public import SallyportCore
public import SallyportLoading

extension SecureSession {
    /// Loads a path from the first of several servers that can be connected, and collects the body.
    ///
    /// ```swift
    /// let answer = try await session.data(for: "/reports/today", from: .applicationServers)
    /// ```
    ///
    /// Servers are tried by priority, 1 first, and at random within one priority. A server that cannot be connected
    /// gives way to the next. So does one whose connection fails later, if the request is idempotent (`GET`, `HEAD`,
    /// `OPTIONS`, `TRACE`, `PUT`, `DELETE`); any other request is not repeated once a byte of it may have been sent.
    /// Any HTTP status is an answer. Once there is a head, the server is kept. `LoadAnswer.url` says which it was.
    ///
    /// With `waitsForConnectivity`, a load that could connect none of several servers waits, and then begins with the
    /// first again. It does not wait for one server while another may answer.
    ///
    /// - Parameters:
    ///   - request: what is loaded; a body that can be read only once is sent to the first server only.
    ///   - servers: where it is loaded from.
    ///   - limit: the longest body; one byte more ends the load with `responseTooLarge`.
    ///   - delegate: answers this load's challenges before the session's does.
    /// - Throws: the last server's error; `cannotFindHost` if there is no server.
    public func data(
        for request: PathRequest, from servers: ServerChoice, upTo limit: ByteCount = .mebibytes(16),
        delegate: (any SessionDelegate)? = nil
    ) async throws(LoadError) -> LoadAnswer<[UInt8]> {
        let period = engine.withdrawals.period
        try admit()
        try running.begin()
        defer { running.end() }
        var response = try await first(request, of: servers, collectsUpTo: limit, delegate)
        guard let bytes = try response.body.held(upTo: limit) else {
            let answer = try await response.collected(upTo: limit)
            try period.check()
            return answer
        }
        try period.check()
        return response.taken(with: bytes)
    }

    /// The same for a `GET` of a path over `https`.
    public func data(
        for path: String, from servers: ServerChoice, upTo limit: ByteCount = .mebibytes(16),
        delegate: (any SessionDelegate)? = nil
    ) async throws(LoadError) -> LoadAnswer<[UInt8]> {
        try await data(for: PathRequest(.get, path), from: servers, upTo: limit, delegate: delegate)
    }

    /// Loads a path from the first of several servers that can be connected, as
    /// ``data(for:from:upTo:delegate:)-(PathRequest,_,_,_)`` does; returns with the head while the body comes.
    public func bytes(
        for request: PathRequest, from servers: ServerChoice, delegate: (any SessionDelegate)? = nil
    ) async throws(LoadError) -> LoadResponse {
        let period = engine.withdrawals.period
        try admit()
        try running.begin()
        do throws(LoadError) {
            var response = try await first(request, of: servers, collectsUpTo: nil, delegate)
            response.body = ResponseBody(RunningBody(response.body, of: running, in: period))
            return response
        } catch {
            running.end()
            throw error
        }
    }

    private func first(
        _ request: PathRequest, of choice: ServerChoice, collectsUpTo limit: ByteCount?,
        _ delegate: (any SessionDelegate)?
    ) async throws(LoadError) -> LoadResponse {
        let failover = ServerFailover(request)
        let deadline = ContinuousClock.now + (request.options.resourceTimeout ?? configuration.resourceTimeout)
        var rest = try choice.inOrder(under: engine.gate)[...]
        // If there are others, the load waits only once none of them could be connected, and then for any of them.
        let waitsForOne = rest.count == 1 || !failover.isReplayable
        var (rounds, lacksConnection) = (0, true)
        while true {
            let server = rest.removeFirst()
            let time = ContinuousClock.now.duration(to: deadline)
            let whole = prepared(try request.request(to: server, within: time, mayWait: waitsForOne))
            var context = context(for: whole, collectsUpTo: limit, delegate: delegate)
            // Says whether a request was answered: of a redirect to another server, say.
            let recorder = context.recorder ?? recorder(for: whole, context.requestID, delegate: delegate)
            context.recorder = recorder
            do throws(LoadError) {
                return try await load(whole, admittedIn: context)
            } catch {
                let wasAnswered = recorder.record.hops.contains { $0.status != nil }
                guard !Task.isCancelled, failover.goesOn(after: error, wasAnswered: wasAnswered) else { throw error }
                // A server that has answered, with a redirect or a challenge, was connected.
                lacksConnection = lacksConnection && !wasAnswered && waiter.waits(after: error, request.options)
                guard !rest.isEmpty || !waitsForOne && lacksConnection else { throw error }
                context.logger.debug(
                    "A server of the app gives way to the next.",
                    metadata: ["server": "\(server.endpoint)", "error": "\(error.code)"])
                guard rest.isEmpty else { continue }
                try await waiter.pause(after: rounds, error, in: context)
                (rounds, lacksConnection) = (rounds + 1, true)
                rest = try choice.inOrder(under: engine.gate)[...]
            }
        }
    }
}
