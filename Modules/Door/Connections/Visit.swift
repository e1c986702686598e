internal import Logging
internal import SallyportConnecting
internal import SallyportCore
internal import SallyportLoading
internal import SallyportTransport

/// One connection through a door, from its greeting to its end.
struct Visit: Sendable {
    let number: UInt64
    let socket: DoorSocket
    let door: Door
    let services: DoorServices
    let visitor: Visitor
    /// What the program must show; nil if its user needs none.
    let credential: DoorCredential?
    let place: DoorPlace
    /// The one server of a forwarded place.
    let forward: Endpoint?

    func run() async -> DoorRecord {
        var record = DoorRecord(place: "\(place)", user: visitor.number)
        let start = ContinuousClock.now
        if let refusal = await pass(&record) {
            record.end = refusal.name
            services.log(refusal, record)
        }
        await socket.close()
        record.duration = start.duration(to: .now).seconds
        return record
    }

    private func pass(_ record: inout DoorRecord) async -> DoorRefusal? {
        do throws(Refused) {
            let request = try await self.request()
            record.form = request.form.rawValue
            record.target = "\(request.target)"
            let stream = try await open(request)
            record.route = stream.decision.map { "\($0.route)" }
            record.rule = stream.decision.map { "\($0.rule)" }
            defer { (record.sent, record.received) = (stream.sentBytes, stream.receivedBytes) }
            return await carry(request, over: stream)
        } catch {
            if let form = error.form { record.form = record.form ?? form.rawValue }
            return error.refusal
        }
    }

    /// A refusal that was already sent to the program.
    private struct Refused: Error {
        var refusal: DoorRefusal
        var form: DoorRequest.Form?
    }

    // MARK: Greeting

    private func request() async throws(Refused) -> DoorRequest {
        if let forward { return DoorRequest(form: .forward, target: forward) }
        let rules = GreetingRules(credential: credential, servesProxyFile: services.servesProxyFile)
        return try await read(Greeting(rules))
    }

    private func read(_ start: Greeting) async throws(Refused) -> DoorRequest {
        var greeting = start
        var bytes: [UInt8] = []
        while true {
            switch greeting.take(bytes) {
            case .more: bytes = try await next(greeting)
            case .reply(let reply):
                await write(reply)
                bytes = []
            case .request(let request): return request
            case .proxyFile:
                throw await refused(.proxyFile, nil, saying: ProxyFile.answer(for: place))
            case .refuse(let answer, let refusal): throw await refused(refusal, greeting.form, saying: answer)
            }
        }
    }

    private func next(_ greeting: Greeting) async throws(Refused) -> [UInt8] {
        if let bytes = try? await socket.read() { return bytes }
        // Either the door has ended the connection, which took too long, or the program has closed it.
        let isOverdue = await door.isOverdue(number)
        throw Refused(refusal: isOverdue ? .tooSlow : .programLost, form: greeting.form)
    }

    private func write(_ bytes: [UInt8]) async { try? await socket.write(bytes) }

    /// Sends a refusal and waits up to two seconds for the program to close: closing a connection with unread bytes resets
    /// it, and the program would lose the answer.
    private func refused(
        _ refusal: DoorRefusal, _ form: DoorRequest.Form?, saying answer: [UInt8]
    ) async -> Refused {
        await say(answer)
        return Refused(refusal: refusal, form: form)
    }

    private func say(_ answer: [UInt8]) async {
        await door.limit(number, to: .seconds(2))
        await write(answer)
        await drain()
    }

    private func drain() async {
        await socket.endWriting()
        while let bytes = try? await socket.read(), !bytes.isEmpty {}
    }

    // MARK: Way

    private func open(_ request: DoorRequest) async throws(Refused) -> ByteStream {
        await door.isLetIn(number)
        switch await opening(request) {
        case .open(let stream): return stream
        case .left: throw Refused(refusal: .programLost, form: request.form)
        case .refused(let refusal):
            guard request.form != .forward else {
                await socket.reset()
                throw Refused(refusal: refusal, form: .forward)
            }
            throw await refused(refusal, request.form, saying: refusal.answer(in: request.form))
        }
    }

    func stream(to target: Endpoint) async throws(LoadError) -> ByteStream {
        var request = TunnelRequest(to: target, isSecure: false)
        request.connectTimeout = services.connectTimeout
        request.idleTimeout = services.idleTimeout
        let questions = ConnectionQuestions(principal: .instance, logger: services.logger)
        return try await services.connector.stream(request, with: services.settings, asking: questions)
    }

    // MARK: Bytes

    private func carry(_ request: DoorRequest, over stream: ByteStream) async -> DoorRefusal? {
        switch request.form {
        case .connect: await write(Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8))
        case .socks5: await write(SOCKSReply.succeeded.bytes)
        case .http:
            do throws(LoadError) {
                try await stream.write(request.head)
            } catch {
                let refusal = DoorRefusal(error)
                await say(refusal.httpAnswer)
                return refusal
            }
        case .forward: break
        }
        let onward = request.form == .http ? OnwardBody(request.body) : nil
        let passage = Passage(socket: socket, stream: stream, onward: onward) { [door, number] in
            await door.limit(number, to: .seconds(2))
        }
        let failure = await passage.run(after: request.rest)
        if failure == nil, onward != nil { await drain() }
        if failure == nil { await stream.shutdown() }
        return failure
    }
}

extension DoorRefusal {
    /// The end of a connection that asked for the proxy file, which is no refusal.
    static let proxyFile = DoorRefusal("proxyFile", "The proxy file was asked for.")
}

/// What all connections of a door use.
struct DoorServices: Sendable {
    let connector: Connector
    let settings = ConnectionSettings(scope: .door)
    let servesProxyFile: Bool
    let connectTimeout: Duration
    let idleTimeout: Duration?
    let logger: Logger

    func log(_ refusal: DoorRefusal, _ record: DoorRecord) {
        logger.log(
            level: refusal.isForOwner ? .notice : .info, "door: \(refusal.message)",
            metadata: ["target": "\(record.target ?? "-")", "end": "\(refusal.name)", "place": "\(record.place)"])
    }
}
