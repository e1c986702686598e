internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

// The bytes of an exchange, in both directions.
extension StreamPeer {
    /// Whether the exchange has not ended.
    private func isUnderWay(_ exchange: StreamExchange) -> Bool { self.exchange === exchange }

    // MARK: Sending

    /// Sends the bytes that are next; returns when there is room for more.
    func send(_ exchange: StreamExchange) async {
        exchange.isWriting = true
        let failure = await write(exchange.takeNext())
        exchange.isWriting = false
        guard isUnderWay(exchange) else { return }
        if let failure { return sendingFailed(exchange, failure) }
        exchange.sent(stream.sentBytes)
        if exchange.isOver { finish(exchange) }
    }

    private func write(_ bytes: [UInt8]) async -> LoadError? {
        do throws(LoadError) {
            try await stream.write(bytes)
            return nil
        } catch {
            return error
        }
    }

    /// The server's last bytes before the stream was lost may still be unread.
    private func sendingFailed(_ exchange: StreamExchange, _ failure: LoadError) {
        guard failure.code == .connectionLost else { return fail(exchange, failure) }
        exchange.giveUpSending()
        if exchange.isOver { finish(exchange) }
    }

    /// Sends the body as its source has it, while the answer may already come.
    func upload(_ exchange: StreamExchange) async {
        if exchange.sending.phase == .awaitsContinue { await awaitContinue(exchange) }
        var wakes = exchange.wakes.makeAsyncIterator()
        while isUnderWay(exchange), exchange.sending.phase == .body {
            switch exchange.fill() {
            case .ready: await send(exchange)
            case .paused:
                guard await wakes.next(isolation: self) != nil else { return }
                exchange.resumed()
                exchange.active()
            case .failed(let failure): fail(exchange, failure)
            }
        }
    }

    private func awaitContinue(_ exchange: StreamExchange) async {
        let (signal, limit) = (exchange.mayContinue, exchange.request.continueTimeout ?? .seconds(1))
        _ = await untilDeadline(.now + limit) { await signal.wait() }
        exchange.continues()
    }

    // MARK: Receiving

    /// Returns when the reader of the body has room for more.
    func took(_ chunk: [UInt8]) async {
        // Bytes that came unasked answer no request.
        guard let exchange else { return close() }
        let content = exchange.take(chunk)
        if exchange.answer.head.isWhole {
            headIsWhole(exchange)
            await passOn(content.body, exchange, isLast: content.failure != nil)
        }
        if let failure = content.failure { fail(exchange, failure) }
    }

    /// A server that refuses a request does not read the rest of it (RFC 9112 §9.3), so the rest is not sent.
    private func headIsWhole(_ exchange: StreamExchange) {
        guard !exchange.isSendingOver, !isSent(exchange),
            exchange.answer.head.framing.status >= 400 || exchange.sending.phase == .awaitsContinue
        else { return }
        exchange.giveUpSending()
    }

    /// Whether the stream has room for all of the request. The write of its last bytes may not have returned yet: a quick
    /// server's answer overtakes it.
    private func isSent(_ exchange: StreamExchange) -> Bool {
        exchange.sending.phase == .isWhole && stream.channel.unsentBytes == 0
    }

    /// Hands a piece of the body over; first the head, if that has not been.
    ///
    /// - Parameter isLast: whether the exchange fails behind it.
    private func passOn(_ body: [UInt8], _ exchange: StreamExchange, isLast: Bool = false) async {
        if !exchange.isAnswered, exchange.isOver || exchange.answer.isWhole && isSent(exchange),
            !exchange.answer.head.hasTrailers
        {
            exchange.respond(with: ResponseBody(body), over: connectionFacts())
            if exchange.isOver { finish(exchange) }
            return
        }
        let pipe = exchange.pipe ?? openPipe(of: exchange)
        let result = pipe.push(body)
        if !exchange.isAnswered {
            exchange.respond(with: ResponseBody(StreamBody(pipe: pipe, peer: self)), over: connectionFacts())
        }
        if exchange.isOver { return finish(exchange) }
        if !isLast, !exchange.answer.isWhole { await waitForRoom(in: pipe, behind: result, exchange) }
    }

    private func openPipe(of exchange: StreamExchange) -> BodyPipe {
        let pipe = BodyPipe(hooks: .init(wasDiscarded: { [stream] in stream.reset() }))
        exchange.pipe = pipe
        return pipe
    }

    private func waitForRoom(
        in pipe: BodyPipe, behind result: BodyPipe.PushResult, _ exchange: StreamExchange
    ) async {
        if case .more = result { return }
        exchange.isReaderFull = true
        do throws(LoadError) {
            try await pipe.waitForRoom(behind: result)
        } catch {
            fail(exchange, .cancelled())
        }
        exchange.isReaderFull = false
        exchange.active()
    }

    /// The server has ended its side.
    func streamEnded() {
        guard let exchange else { return close() }
        guard exchange.answer.streamEnded() else {
            return fail(
                exchange, LoadError(.connectionLost, at: .response, "The stream ended before the answer was whole."))
        }
        exchange.giveUpSending()
        finish(exchange)
    }
}
