import Glibc
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportEventLoop
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing

/// What a connection of HTTP/1.1 does once its server has ended it while the exchange goes on: it takes none of the loop's
/// time.
@Suite(.timeLimit(.minutes(1)))
struct EndedConnectionTests {
    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    /// A loop that is woken by an ended socket takes all of it; one that waits, next to nothing.
    private static let wait = Duration.milliseconds(400)

    private let loops = EventLoopGroup(count: 1, name: "ended")

    /// How much of the processor the loop's thread has had.
    private func processorTime() async -> Duration {
        await withTaskExecutorPreference(loops.loops[0]) { await Self.timeOfThread() }
    }

    @concurrent private static func timeOfThread() async -> Duration { TestSupport.processorTime() }

    /// The reason is asked for meanwhile, and the loss is known to the pool once.
    @Test func aLossThatWaitsForItsReasonIsToldOnceAndStopsTheConnection() async throws {
        let world = try World()
        let (relay, questions) = (try world.relay(), Lock(0))
        let connections = Lock(0)
        let origin = try TestServer { connection in
            let isFirst = connections.withLock { count in
                count += 1
                return count == 1
            }
            while let head = connection.readHead(), !isFirst || head.hasPrefix("GET") { connection.write(Self.answer) }
            // Where a relay ends TLS alone the socket stays silent; an ended one wakes the loop until it is let go of.
            relay.closeConnections()
        }
        let transport = Transport(loops: loops, engine: .own) {
            questions.withLock { $0 += 1 }
            try? await Task.sleep(for: Self.wait)
        }
        let path = try world.path(relay)
        _ = try await transport.exchange(.init(.get, origin.url()), via: path).body.collect(upTo: .bytes(2))
        let before = await processorTime()
        let error = await #expect(throws: LoadError.self) {
            _ = try await transport.exchange(.init(.post, origin.url()), via: path)
        }
        #expect(error?.code == .connectionLost && connections.withLock { $0 } == 1)
        #expect(await processorTime() - before < Self.wait / 2)

        let response = try await transport.exchange(.init(.get, origin.url()), via: path)
        #expect(!response.facts.connection.isReused)
        #expect(questions.withLock { $0 } == 1)
        await transport.shutdown()
        await loops.shutdown()
    }

    /// The send notices the reset first, and what is read then ends as by a FIN.
    @Test func aResetWhileTheRequestIsSentIsNoEndOfTheAnswer() async throws {
        let server = try TestServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\n\r\npart")
            usleep(200_000)
            connection.reset()
        }
        let transport = Transport(loops: loops, engine: .own)
        let body = RequestBody.bytes([UInt8](repeating: 7, count: 32 << 20))
        let error = await #expect(throws: LoadError.self) {
            let response = try await transport.exchange(
                .init(.post, server.url(), body: body), via: ConnectionPath())
            _ = try await response.body.collect(upTo: .kibibytes(1))
        }
        #expect(error?.code == .connectionLost, "\(String(describing: error))")
        await transport.shutdown()
        await loops.shutdown()
    }

    /// The report of the loss would use the loop, which ends after the transport.
    @Test func shutdownEndsTheQuestionForTheReasonOfALoss() async throws {
        let world = try World()
        let relay = try world.relay()
        let origin = try TestServer { connection in
            guard connection.readHead() != nil else { return }
            relay.closeConnections()
        }
        let (asked, isOver) = (Signal(), Lock(false))
        let transport = Transport(loops: loops, engine: .own) {
            asked.fire()
            try? await Task.sleep(for: .seconds(60))
            isOver.withLock { $0 = true }
        }
        let (path, request) = (try world.path(relay), try ExchangeRequest(.post, origin.url()))
        let load = Task { try await transport.exchange(request, via: path) }
        await asked.wait()
        await transport.shutdown()
        await #expect(throws: LoadError(.sessionInvalidated, "")) { _ = try await load.value }
        await loops.shutdown()
        #expect(try await eventually { isOver.withLock { $0 } })
    }

    /// The answer is whole before the request is, and the server has gone: the exchange ends when the body's source goes on.
    @Test func aWholeAnswerWaitsForTheRestOfTheRequest() async throws {
        let server = try TestServer { connection in
            guard connection.readHead() != nil, connection.read() == Array("he".utf8) else { return }
            connection.write(Self.answer)
        }
        let (held, hold) = AsyncStream.makeStream(of: Void.self)
        let body = RequestBody.once(length: 5) { writer in
            try await writer.write(Array("he".utf8))
            for await _ in held {}
            try await writer.write(Array("llo".utf8))
        }
        let transport = Transport(loops: loops, engine: .own)
        let response = try await transport.exchange(.init(.post, server.url(), body: body), via: ConnectionPath())
        #expect(response.head.status == .ok)
        #expect(try await eventually { server.openConnections == 0 })
        let before = await processorTime()
        try await Task.sleep(for: Self.wait)
        #expect(await processorTime() - before < Self.wait / 2)

        hold.finish()
        #expect(try await response.body.collect(upTo: .bytes(2)) == Array("ok".utf8))
        await transport.shutdown()
        await loops.shutdown()
    }

    /// Its head is still being sent, and its body would wait for the server's word after that.
    @Test func aConnectionThatIsResetWaitsForNoContinue() async throws {
        let server = try TestServer(receiveBuffer: 8 << 10) { connection in
            connection.pause(.milliseconds(50))
            connection.reset()
        }
        let transport = Transport(loops: loops, engine: .own)
        var request = try ExchangeRequest(.put, server.url(), body: .text("body"))
        // More than the kernel takes.
        request.headerFields[.userAgent] = String(repeating: "a", count: 5 << 20)
        request.continueTimeout = .milliseconds(300)
        await #expect(throws: LoadError(.connectionLost, "")) {
            try await transport.exchange(request, via: ConnectionPath())
        }
        // Until the time for the server's word is over.
        try await Task.sleep(for: .milliseconds(400))
        #expect(server.acceptedConnections == 1)
        await transport.shutdown()
        await loops.shutdown()
    }

    /// TCP may be ended by others than the server, also before the first byte of a body that only its end ends.
    @Test(arguments: [false, true])
    func anEmptyBodyIsWholeWhereTLSSaysSo(_ isTold: Bool) async throws {
        let world = try World()
        let origin = try TestServer { connection in
            guard let client = world.originTLS.accept(connection), client.readHead() != nil else { return }
            client.write("HTTP/1.1 200 OK\r\n\r\n")
            if isTold { client.end() }
        }
        let transport = Transport(loops: loops, engine: .own)
        let path = try ConnectionPath(trust: .only([world.origin.der]))
        let request = try ExchangeRequest(.get, origin.url(scheme: "https"))
        var failure: LoadError?
        do throws(LoadError) {
            let body = try await transport.exchange(request, via: path).body.collect(upTo: .bytes(2))
            #expect(body.isEmpty)
        } catch {
            failure = error
        }
        #expect(failure?.code == (isTold ? nil : .connectionLost), "\(String(describing: failure))")
        await transport.shutdown()
        await loops.shutdown()
    }

    @Test(arguments: ["HTTP/2 200", "HTTP/2 200 OK", "HTTP/2.0 200 OK"])
    func anAnswerOfHTTP2IsRefused(_ statusLine: String) async throws {
        let server = try TestServer { $0.answerAll("\(statusLine)\r\nContent-Length: 2\r\n\r\nok") }
        let transport = Transport(loops: loops, engine: .own)
        await #expect(throws: LoadError(.protocolViolation, "")) {
            let response = try await transport.exchange(.init(.get, server.url()), via: ConnectionPath())
            _ = try await response.body.collect(upTo: .bytes(2))
        }
        #expect(try await eventually { server.openConnections == 0 })
        await transport.shutdown()
        await loops.shutdown()
    }
}
