internal import SallyportBase
package import SallyportCore
internal import SallyportEventLoop
package import SallyportLoading

/// The other end of a stream, with which HTTP/1.1 is spoken: one exchange after another.
///
/// Owns the stream from the first exchange on, and closes it when it is released, when it has been idle, and when an
/// answer does not let another one follow.
package actor StreamPeer {
    let stream: ByteStream
    private let idleLifetime: Duration
    private var turns = Turns(limit: 1)
    /// The exchange whose turn it is.
    private(set) var exchange: StreamExchange?
    /// Why no further exchange is possible; nil while one is.
    private(set) var failure: LoadError?
    /// The first exchange's, and so the stream's.
    private var principal: Principal?
    /// Of the last answer, between exchanges.
    private var lastFields = FieldList(remembers: true)

    /// From the first exchange on, even if that is cancelled before it begins.
    private var ownsStream = false
    private var reading: Task<Void, Never>?
    /// How many bytes were read before the first exchange, by the stream's user, and how many since.
    private var (readBefore, readBytes) = (0, 0)
    private var connection: SharedConnectionFacts?
    private var watching: Task<Void, Never>?
    private var watchedUntil = LoopInstant.never
    private var idleSince = LoopInstant.never

    /// - Parameter idleLifetime: after how long without an exchange the stream is closed.
    package init(_ stream: ByteStream, idleLifetime: Duration = .seconds(90)) {
        self.stream = stream
        self.idleLifetime = idleLifetime
    }

    deinit {
        watching?.cancel()
        if ownsStream { stream.close() }
    }

    /// Sends a request once it is its turn, and returns at the head of the answer.
    ///
    /// Cancelling the task ends the exchange, until the head is there; discarding the body ends it afterwards. Both end
    /// the stream, since its bytes belong to that exchange.
    ///
    /// - Parameter principal: the stream serves the principal of its first exchange only.
    /// - Throws: the stream's own failure; `cannotConnect` if it has ended otherwise; the errors of an exchange.
    package func exchange(
        _ request: ExchangeRequest, for principal: Principal
    ) async throws(LoadError) -> ExchangeResponse {
        let start = LoopInstant.now
        ownsStream = true
        try request.checkMethod()
        try await takeTurn(until: request.deadline)
        let exchange: StreamExchange
        do throws(LoadError) {
            try checkStream(principal)
            exchange = try StreamExchange(request, since: start, after: lastFields)
        } catch {
            turns.end()
            throw error
        }
        begin(exchange, for: principal)
        await send(exchange)
        if !exchange.isSendingOver { exchange.uploading = Task { await upload(exchange) } }
        await exchange.answered.wait()
        // The wait ends without an outcome if the task is cancelled.
        if !exchange.isAnswered { fail(exchange, .cancelled()) }
        return try (exchange.takeOutcome() ?? .failure(.cancelled())).get()
    }

    // MARK: Turns

    private func takeTurn(until deadline: ContinuousClock.Instant?) async throws(LoadError) {
        if Task.isCancelled { throw .cancelled() }
        guard let place = turns.join() else { return }
        await place.wait(until: deadline)
        if turns.isTurn(of: place) {
            guard Task.isCancelled else { return }
            turns.end()
            throw .cancelled()
        }
        throw Task.isCancelled
            ? .cancelled() : LoadError(.resourceTimeout, at: .routing, "The time for the whole load is over.")
    }

    private func checkStream(_ principal: Principal) throws(LoadError) {
        guard self.principal ?? principal == principal else {
            throw LoadError(.cannotConnect, at: .connect, "The stream serves another principal.")
        }
        if reading == nil { readBefore = stream.channel.readBytes }
        // Bytes that came unasked answer no request.
        if stream.receivedBytes > readBefore + readBytes { close(because: stream.channel.failure) }
        if let failure { throw failure }
    }

    private func begin(_ exchange: StreamExchange, for principal: Principal) {
        self.exchange = exchange
        if reading == nil { startReading(for: principal) }
        watch()
    }

    private func startReading(for principal: Principal) {
        self.principal = principal
        // Unstructured, as it goes on between exchanges; it must not keep the peer. See Docs/Concurrency.md.
        reading = Task { [weak self, stream] in
            while true {
                let read = await Self.read(stream)
                guard await self?.took(read) == true else { return }
            }
        }
    }

    private static func read(_ stream: ByteStream) async -> Result<[UInt8]?, LoadError> {
        do throws(LoadError) {
            return .success(try await stream.read())
        } catch {
            return .failure(error)
        }
    }

    /// The connection's facts for the present exchange.
    func connectionFacts() -> SharedConnectionFacts {
        var facts = stream.facts.connection
        facts.httpVersion = "HTTP/1.1"
        facts.isReused = connection != nil
        guard let connection, connection.facts.isReused else {
            let made = SharedConnectionFacts(facts)
            connection = made
            return made
        }
        return connection
    }

    // MARK: Ends

    /// The exchange is over, and its answer whole.
    func finish(_ exchange: StreamExchange) {
        guard self.exchange === exchange else { return }
        self.exchange = nil
        let isKept = exchange.answer.keepsStream && exchange.sending.phase == .isWhole
        exchange.pipe?.finish(trailers: exchange.answer.head.trailerFields)
        lastFields = exchange.answer.takeFields()
        exchange.end()
        idleSince = .now
        // A body that was discarded just before its end has reset the stream.
        if isKept, exchange.pipe?.isDiscarded != true { watch() } else { close() }
        turns.end()
    }

    /// The exchange ends early, and the stream with it.
    func fail(_ exchange: StreamExchange, _ reason: LoadError) {
        guard self.exchange === exchange else { return }
        self.exchange = nil
        exchange.end(.failure(reason))
        exchange.pipe?.finish(reason)
        exchange.end()
        end(with: Self.ended)
        stream.reset()
        turns.end()
    }

    /// The stream has failed, which may be the consequence of its end from this side.
    func streamFailed(_ reason: LoadError) {
        guard let exchange else { return end(with: reason) }
        // Its reader has reset the stream.
        if exchange.pipe?.isDiscarded == true { return fail(exchange, .cancelled()) }
        end(with: reason)
        fail(exchange, reason)
    }

    /// Ends the stream between exchanges.
    ///
    /// - Parameter reason: why no other exchange is possible; nil for the end of the stream.
    func close(because reason: LoadError? = nil) {
        end(with: reason ?? Self.ended)
        stream.close()
    }

    private func end(with reason: LoadError) {
        if failure == nil { failure = reason }
        watching?.cancel()
    }

    private static var ended: LoadError {
        LoadError(.cannotConnect, at: .connect, "The stream has ended.")
    }

    // MARK: Receiving

    /// - Returns: whether there may be more.
    private func took(_ read: Result<[UInt8]?, LoadError>) async -> Bool {
        switch read {
        case .success(let chunk?):
            readBytes += chunk.count
            await took(chunk)
        case .success(nil): streamEnded()
        case .failure(let reason): streamFailed(reason)
        }
        return failure == nil
    }

    // MARK: Time

    private var dueAt: LoopInstant { exchange?.dueAt ?? idleSince.advanced(by: idleLifetime) }

    /// Sees to it that the peer is looked at when the exchange may be overdue, or idleness too long.
    private func watch() {
        guard dueAt < watchedUntil, failure == nil else { return }
        watchedUntil = dueAt
        watching?.cancel()
        // Unstructured, as it goes on between exchanges; it must not keep the peer. See Docs/Concurrency.md.
        watching = Task { [weak self] in
            while let pause = await self?.check() {
                guard (try? await Task.sleep(for: pause)) != nil else { return }
            }
        }
    }

    /// - Returns: the time until the next look; nil if the stream has ended.
    private func check() -> Duration? {
        let now = LoopInstant.now
        if let exchange, let reason = exchange.overdue(at: now, sentBytes: stream.sentBytes) {
            fail(exchange, reason)
        } else if exchange == nil, now >= dueAt {
            close()
        }
        guard failure == nil else { return nil }
        watchedUntil = min(dueAt, now.advanced(by: idleLifetime))
        return .nanoseconds(watchedUntil.nanoseconds - now.nanoseconds)
    }
}
