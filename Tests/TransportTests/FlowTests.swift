import Glibc
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportEventLoop
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing
import TransportTestSupport

/// Back-pressure, time and cancellation.
@Suite(.timeLimit(.minutes(1)), .onBothEnginesAsUsual)
struct FlowTests {
    private let transport = Transport()
    private let path = ConnectionPath()

    @Test func aSlowReaderStopsTheServer() async throws {
        let written = Lock(0)
        let total = 64 << 20
        let server = try TestServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(total)\r\n\r\n")
            let chunk = [UInt8](repeating: 7, count: 1 << 16)
            for _ in 0..<(total >> 16) where connection.write(chunk) { written.withLock { $0 += chunk.count } }
        }
        var request = try ExchangeRequest(.get, server.url())
        // A thread of a busy machine may get no processor for a second or two.
        request.idleTimeout = .seconds(3)
        let response = try await transport.exchange(request, via: path)
        // Longer than the idle time-out, which stands still while the reader is what is waited for.
        try await Task.sleep(for: .seconds(4))
        let ahead = written.withLock { $0 }
        // The pipe's mark, libcurl's buffer and what the kernel buffers on both sides of the loopback.
        #expect(ahead < 24 << 20, "the server is \(ahead) bytes ahead")
        var count = 0
        for try await chunk in response.body { count += chunk.count }
        #expect(count == total)
    }

    @Test func aSlowServerStopsTheProducer() async throws {
        let gate = Lock(false)
        let received = Lock(0)
        let server = try TestServer { connection in
            _ = connection.readHead()
            while !gate.withLock({ $0 }) { usleep(2000) }
            while received.withLock({ $0 }) < 10_000_000, case let chunk = connection.read(), !chunk.isEmpty {
                received.withLock { $0 += chunk.count }
            }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        let produced = Lock(0)
        let body = RequestBody.once(length: 10_000_000) { writer in
            for _ in 0..<100 {
                try await writer.write([UInt8](repeating: 1, count: 100_000))
                produced.withLock { $0 += 100_000 }
            }
        }
        async let response = transport.exchange(.init(.put, server.url(), body: body), via: path)
        try await Task.sleep(for: .milliseconds(300))
        #expect(produced.withLock { $0 } < 9_000_000)
        gate.withLock { $0 = true }
        #expect(try await response.head.status == .ok)
        #expect(received.withLock { $0 } == 10_000_000)
    }

    /// A piece of the body takes longer than the idle time-out, and goes bit by bit.
    @Test func aServerThatTakesABodySlowlyIsNotIdle() async throws {
        let count = 256 << 10
        let (narrowed, narrow) = AsyncStream.makeStream(of: Void.self)
        let server = try TestServer(receiveBuffer: 8 << 10) { connection in
            guard connection.readHead() != nil, connection.narrowPeer() else { return }
            narrow.finish()
            var rest = count
            while rest > 0, case let bytes = connection.read(upTo: min(rest, 4 << 10)), !bytes.isEmpty {
                rest -= bytes.count
                // What the kernels hold at the end is no reason to wait.
                if rest > 32 << 10 { connection.pause(.milliseconds(75)) }
            }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        let body = RequestBody.once(length: Int64(count)) { writer in
            for await _ in narrowed {}
            try await writer.write([UInt8](repeating: 1, count: count))
        }
        var request = try ExchangeRequest(.put, server.url(), body: body)
        request.idleTimeout = .seconds(3)
        let start = ContinuousClock.now
        #expect(try await transport.exchange(request, via: path).head.status == .ok)
        #expect(start.duration(to: .now) > .seconds(3))
        #expect(server.acceptedConnections == 1)
    }

    @Test(arguments: [0, 1, 1000, 70_000, 3_000_000])
    func bodiesOfAllKindsArriveWhole(_ count: Int) async throws {
        let server = try TestServer { connection in
            while let head = connection.readHead()?.lowercased() {
                var bytes = 0
                if head.contains("transfer-encoding: chunked") {
                    var tail: [UInt8] = []
                    while !tail.suffix(5).elementsEqual("0\r\n\r\n".utf8) {
                        let chunk = connection.read()
                        bytes += chunk.count { $0 == UInt8(ascii: "b") }
                        tail = tail.suffix(5) + chunk
                        if chunk.isEmpty { return }
                    }
                } else {
                    while bytes < count, case let chunk = connection.read(), !chunk.isEmpty { bytes += chunk.count }
                }
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(String(bytes).utf8.count)\r\n\r\n\(bytes)")
            }
        }
        let bytes = [UInt8](repeating: UInt8(ascii: "b"), count: count)
        let bodies: [RequestBody] = [
            .bytes(bytes), .once { try await $0.write(bytes) },
            .restartable(length: Int64(count)) { try await $0.write(bytes) }, .bytes(bytes),
        ]
        for body in bodies {
            let response = try await transport.exchange(.init(.post, server.url(), body: body), via: path)
            let text = try await response.body.collect(upTo: .bytes(20))
            #expect(String(decoding: text, as: UTF8.self) == "\(count)")
        }
    }

    @Test func aBodyThatThrowsOrLiesAboutItsLengthEndsTheLoad() async throws {
        struct Broken: Error {}
        let server = try TestServer { $0.awaitEnd() }
        let bodies: [RequestBody] = [
            .once { _ in throw Broken() }, .once(length: 3) { try await $0.write([1, 2, 3, 4]) },
            .once(length: 3) { try await $0.write([1, 2]) },
        ]
        for body in bodies {
            let error = await #expect(throws: LoadError.self) {
                try await transport.exchange(.init(.post, server.url(), body: body), via: path)
            }
            #expect(error?.code == .requestBodyFailed, "\(String(describing: error))")
        }
    }

    enum Moment: CaseIterable { case beforeAnswer, inHead, inBody, inUpload }

    @Test(arguments: Moment.allCases)
    func cancellingEndsTheExchangeAtAnyMoment(_ moment: Moment) async throws {
        let server = try TestServer { connection in
            _ = connection.readHead()
            if moment == .inHead { connection.write("HTTP/1.1 200 OK\r\nX-A: ") }
            if moment == .inBody { connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc") }
            connection.awaitEnd()
        }
        let url = try server.url()
        let body: RequestBody? =
            moment == .inUpload
            ? .once { writer in while true { try await writer.write([UInt8](repeating: 0, count: 1 << 16)) } } : nil
        let task = Task {
            let response = try await transport.exchange(.init(.post, url, body: body), via: path)
            return try await response.body.collect(upTo: .kibibytes(1))
        }
        #expect(try await eventually { server.openConnections == 1 })
        try await Task.sleep(for: .milliseconds(20))
        task.cancel()
        let error = await #expect(throws: LoadError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        #expect(try await eventually { server.openConnections == 0 })
    }

    /// Neither bytes that wait for their reader nor those of a body that is passed on when it is whole.
    @Test(arguments: [nil, ByteCount.kibibytes(1)])
    func bytesBeforeAWithdrawalAreNotRead(_ collectsUpTo: ByteCount?) async throws {
        let isWritten = Lock(false)
        let server = try TestServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
            isWritten.withLock { $0 = true }
            connection.awaitEnd()
        }
        let (waits, goOn) = AsyncStream.makeStream(of: Void.self)
        var request = try ExchangeRequest(.get, server.url())
        request.collectsUpTo = collectsUpTo
        let load = Task { [request] in
            let response = try await transport.exchange(request, via: path)
            for await _ in waits {}
            return try await response.body.next()
        }
        #expect(try await eventually { isWritten.withLock { $0 } })
        // Until they are read.
        try await Task.sleep(for: .milliseconds(50))
        transport.endExchanges(with: LoadError(.withdrawn, "")) { _ in true }
        #expect(try await eventually { server.openConnections == 0 })
        goOn.finish()
        await #expect(throws: LoadError(.withdrawn, "")) { try await load.value }
    }

    @Test func cancelBeforeTheStartNeverReachesTheServer() async throws {
        let server = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") }
        let url = try server.url()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await transport.exchange(.init(.get, url), via: path)
        }
        let error = await #expect(throws: LoadError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        #expect(server.acceptedConnections == 0)
    }

    @Test func randomCancellationLeavesNothingOpen() async throws {
        let server = try TestServer {
            $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n" + String(repeating: "x", count: 50000))
        }
        let url = try server.url()
        await withTaskGroup(of: Void.self) { group in
            for turn in 0..<400 {
                group.addTask {
                    let task = Task {
                        let response = try await transport.exchange(.init(.get, url), via: path)
                        if turn % 3 == 0 { return }
                        for try await _ in response.body {}
                    }
                    try? await Task.sleep(for: .microseconds(Int.random(in: 0...8000)))
                    task.cancel()
                    _ = await task.result
                }
            }
        }
        await transport.shutdown()
        #expect(try await eventually { server.openConnections == 0 })
    }

    @Test func idleAndTotalTimeAreLimited() async throws {
        let silent = try TestServer { $0.awaitEnd() }
        var idle = try ExchangeRequest(.get, silent.url())
        // Time enough for the connection, so that what times out is the answer.
        idle.idleTimeout = .seconds(2)
        let first = await #expect(throws: LoadError.self) { try await transport.exchange(idle, via: path) }
        #expect(first?.code == .idleTimeout && first?.step == .response)

        let dripping = try TestServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while connection.write("x") { usleep(10_000) }
        }
        var late = try ExchangeRequest(.get, dripping.url())
        late.idleTimeout = .seconds(10)
        // Late enough that the answer's head has come.
        late.deadline = .now + .seconds(3)
        let response = try await transport.exchange(late, via: path)
        let second = await #expect(throws: LoadError.self) { try await response.body.collect(upTo: .mebibytes(1)) }
        #expect(second?.code == .resourceTimeout)
    }

    /// The body's source has nothing, and the server has refused the rest: it is the server that is waited for.
    @Test func silenceBehindARefusalEndsByTheIdleTimeout() async throws {
        let server = try TestServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\n")
            connection.awaitEnd()
        }
        let (held, hold) = AsyncStream.makeStream(of: Void.self)
        let body = RequestBody.once(length: 5) { _ in
            for await _ in held {}
        }
        var request = try ExchangeRequest(.post, server.url(), body: body)
        request.idleTimeout = .seconds(3)
        request.deadline = .now + .seconds(20)
        let response = try await transport.exchange(request, via: path)
        #expect(response.head.status.code == 413)
        await #expect(throws: LoadError(.idleTimeout, "")) { try await response.body.collect(upTo: .bytes(2)) }
        #expect(server.acceptedConnections == 1)
        hold.finish()
    }

    /// The source of the request's body has no bytes now, and the server wants none: its answer ends the load, whether
    /// the server closes the connection or not.
    @Test(arguments: ["", "Connection: close\r\n"])
    func aWholeRefusalEndsALoadWhoseBodyHasNoMoreBytes(_ field: String) async throws {
        let (isAwaited, isOver) = (Lock(false), Lock(false))
        let server = try TestServer { connection in
            guard connection.readHead() != nil else { return }
            while !isAwaited.withLock({ $0 }) { connection.pause(.milliseconds(1)) }
            connection.write("HTTP/1.1 413 Content Too Large\r\n\(field)Content-Length: 2\r\n\r\nno")
            connection.awaitEnd()
        }
        let (held, hold) = AsyncStream.makeStream(of: Void.self)
        let body = RequestBody.once(length: 5) { _ in
            // The source runs once bytes are asked for, and has none.
            isAwaited.withLock { $0 = true }
            for await _ in held {}
            isOver.withLock { $0 = true }
        }
        var request = try ExchangeRequest(.post, server.url(), body: body)
        request.idleTimeout = .seconds(5)
        request.deadline = .now + .seconds(20)
        let response = try await transport.exchange(request, via: path)
        #expect(response.head.status.code == 413)
        #expect(try await response.body.collect(upTo: .bytes(2)) == Array("no".utf8))
        #expect(try await eventually { isOver.withLock { $0 } && server.openConnections == 0 })
        hold.finish()
    }

    @Test(arguments: [(65_000, true), (66_000, false)])
    func theHeaderBlockIsLimited(_ bytes: Int, _ isTaken: Bool) async throws {
        let server = try TestServer {
            $0.answerAll("HTTP/1.1 200 OK\r\nX: \(String(repeating: "a", count: bytes))\r\nContent-Length: 0\r\n\r\n")
        }
        let request = try ExchangeRequest(.get, server.url())
        do {
            _ = try await transport.exchange(request, via: path)
            #expect(isTaken)
        } catch {
            #expect(!isTaken && error.code == .responseTooLarge, "\(error)")
        }
    }

    @Test(arguments: [
        ("garbage\r\n\r\n", LoadError.Code.protocolViolation), ("", .connectionLost),
        ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", .connectionLost),
        ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\nX-Half", .connectionLost),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", .protocolViolation),
    ])
    func answersThatBreakAreTyped(_ answer: String, _ code: LoadError.Code) async throws {
        let server = try TestServer { connection in
            _ = connection.readHead()
            connection.write(answer)
        }
        let error = await #expect(throws: LoadError.self) {
            let response = try await transport.exchange(.init(.get, server.url()), via: path)
            return try await response.body.collect(upTo: .bytes(100))
        }
        #expect(error?.code == code, "\(String(describing: error))")
    }

    @Test func shutdownEndsWhatIsInFlight() async throws {
        let server = try TestServer { $0.awaitEnd() }
        let url = try server.url()
        for _ in 0..<50 {
            let loops = EventLoopGroup(count: 1, name: "teardown")
            let transport = Transport(loops: loops)
            let task = Task { try await transport.exchange(.init(.get, url), via: path) }
            try await Task.sleep(for: .milliseconds(1))
            await transport.shutdown()
            let error = await #expect(throws: LoadError.self) { try await task.value }
            #expect(error?.code == .sessionInvalidated)
            await #expect(throws: LoadError.self) { try await transport.exchange(.init(.get, url), via: path) }
            await loops.shutdown()
        }
        #expect(try await eventually { server.openConnections == 0 })
    }
}
