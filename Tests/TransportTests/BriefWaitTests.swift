import Glibc
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportEventLoop
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing

/// Tasks that wait for the next bytes on their own threads. Here the wait may be long, so that a busy machine does not
/// matter.
@Suite(.timeLimit(.minutes(1)))
struct BriefWaitTests {
    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    /// So many show that the server is quick.
    private static let warmUp = 16

    /// Of this test's loop alone, so that its thread can be told from others.
    private let name: String
    private let loops: EventLoopGroup

    init() {
        name = "b\(UInt32.random(in: 0 ... .max))"
        loops = EventLoopGroup(count: 1, name: name)
    }

    private func transport(waiting limit: Duration = .milliseconds(900)) -> Transport {
        BriefWait.Limits.$chosen.withValue(BriefWait.Limits(both: limit)) { Transport(loops: loops, engine: .own) }
    }

    fileprivate func get(
        _ transport: Transport, _ server: TestServer, _ threads: Threads? = nil
    ) async throws -> String {
        var request = try ExchangeRequest(.get, RequestURL("http://127.0.0.1:\(server.port)/"))
        request.reporter = { _ in threads?.noteCurrent() }
        let response = try await transport.exchange(request, via: ConnectionPath())
        return String(decoding: try await response.body.collect(upTo: .bytes(2)), as: UTF8.self)
    }

    /// Counts the exchanges that end on the thread of a task that waited, and not on the loop's own.
    fileprivate final class Threads: Sendable {
        private let loop: EventLoop
        private let count = Lock(0)

        init(_ loops: EventLoopGroup) { loop = loops.loops[0] }

        var others: Int { count.withLock { $0 } }

        func noteCurrent() {
            if loop.isBorrowed { count.withLock { $0 += 1 } }
        }
    }

    /// How often the loop's own thread has slept.
    private func sleeps() throws -> Int { try ThreadSleeps.count(of: "\(name)-0") }

    /// Expects something in one of many tries. On a busy machine, the loop's thread may be awake in any of them, and is
    /// left to do the work.
    private func inOneOfManyTries(_ holds: () async throws -> Bool) async throws {
        for _ in 0..<100 where try await holds() { return }
        Issue.record("It held in none of 100 tries.")
    }

    /// A server that answers so many requests over each connection, and then does something else.
    private func server(
        answering count: Int, then body: @escaping @Sendable (TestConnection) -> Void = { $0.awaitEnd() }
    ) throws -> TestServer {
        try TestServer { connection in
            for _ in 0..<count {
                guard connection.readHead() != nil else { return }
                connection.write(Self.answer)
            }
            if connection.readHead() != nil { body(connection) }
        }
    }

    // MARK: Exchanges

    @Test func aTaskThatIsAloneWaitsForAQuickServerItself() async throws {
        let server = try TestServer { $0.answerAll(Self.answer) }
        let (transport, threads) = (transport(), Threads(loops))
        for _ in 0..<Self.warmUp { _ = try await get(transport, server, threads) }
        #expect(threads.others == 0)
        try await inOneOfManyTries {
            let before = threads.others
            for _ in 0..<50 {
                let body = try await get(transport, server, threads)
                #expect(body == "ok")
            }
            return threads.others - before >= 40
        }
        await transport.shutdown()
    }

    @Test func otherExecutorsLeaveItToTheLoop() async throws {
        let server = try TestServer { $0.answerAll(Self.answer) }
        let (transport, threads, other) = (transport(), Threads(loops), EventLoop(name: "other"))
        try await withTaskExecutorPreference(other) {
            for _ in 0..<100 { _ = try await get(transport, server, threads) }
        }
        #expect(threads.others == 0)
        await transport.shutdown()
        await other.shutdown()
    }

    @Test func anAnswerThatTakesLongerComesByTheLoop() async throws {
        let server = try server(answering: 20) { connection in
            usleep(200_000)
            connection.write(Self.answer)
        }
        let transport = transport(waiting: .milliseconds(50))
        for _ in 0..<21 { #expect(try await get(transport, server) == "ok") }
        await transport.shutdown()
    }

    @Test func anAnswerInPiecesIsWhole() async throws {
        let server = try server(answering: 20) { connection in
            for byte in Self.answer.utf8 {
                connection.write([byte])
                usleep(500)
            }
        }
        let transport = transport()
        for _ in 0..<21 { #expect(try await get(transport, server) == "ok") }
        await transport.shutdown()
    }

    @Test func anExchangeIsSentAgainIfItsConnectionEndsMeanwhile() async throws {
        let server = try server(answering: 20) { _ in }
        let transport = transport()
        for _ in 0..<60 { #expect(try await get(transport, server) == "ok") }
        #expect(server.acceptedConnections == 3)
        await transport.shutdown()
    }

    private func waitingExchange(
        throws code: LoadError.Code, after end: (Transport, Task<String, any Error>) -> Void
    ) async throws {
        let asked = Signal()
        let server = try server(answering: 20) { connection in
            asked.fire()
            connection.awaitEnd()
        }
        let transport = transport()
        for _ in 0..<20 { _ = try await get(transport, server) }
        let waiting = Task { try await get(transport, server) }
        await asked.wait()
        end(transport, waiting)
        await #expect(throws: LoadError(code, "")) { _ = try await waiting.value }
        await transport.shutdown()
    }

    @Test func aWaitingExchangeIsCancelled() async throws {
        try await waitingExchange(throws: .cancelled) { $1.cancel() }
    }

    @Test func aWaitingExchangeIsEndedByAWithdrawal() async throws {
        try await waitingExchange(throws: .withdrawn) { transport, _ in
            transport.endExchanges(with: LoadError(.withdrawn, "")) { _ in true }
        }
    }

    @Test func exchangesBesideEachOtherAreAllAnswered() async throws {
        let server = try TestServer { $0.answerAll(Self.answer) }
        let transport = transport()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<50 {
                        let body = try await get(transport, server)
                        #expect(body == "ok")
                    }
                }
            }
            try await group.waitForAll()
        }
        await transport.shutdown()
    }

    // MARK: Tunnels

    /// Sends everything back.
    private func echo() throws -> TestServer {
        try TestServer { connection in
            while case let chunk = connection.read(), !chunk.isEmpty { connection.write(chunk) }
        }
    }

    private func tunnel(_ transport: Transport, to server: TestServer) async throws -> Tunnel {
        let request = try TunnelRequest(to: server.endpoint, isSecure: false)
        return try await transport.tunnel(request, via: ConnectionPath())
    }

    private func exchange(_ tunnel: Tunnel, _ count: Int) async throws {
        for number in 0..<count {
            let message = Array("message \(number)".utf8)
            try await tunnel.write(message)
            var answer: [UInt8] = []
            while answer.count < message.count, let bytes = try await tunnel.read() { answer += bytes }
            #expect(answer == message)
        }
    }

    @Test func aReaderThatIsAloneWaitsForAQuickPeerItself() async throws {
        let (server, transport) = (try echo(), transport())
        let tunnel = try await self.tunnel(transport, to: server)
        try await exchange(tunnel, Self.warmUp)
        try await inOneOfManyTries {
            let before = try sleeps()
            try await exchange(tunnel, 50)
            return try sleeps() - before <= 10
        }
        tunnel.closeWrite()
        let end = try await tunnel.read()
        #expect(end == nil)
        await transport.shutdown()
    }

    /// Bytes that were sent before the read say nothing of how quick the peer is.
    @Test func bytesThatAreAlreadyThereAreNoQuickAnswers() async throws {
        let transport = transport()
        let server = try TestServer { connection in
            while connection.read() == [1], connection.write([2]) {}
        }
        // A reader that waits itself waits for 0.9 s first, over each of the tunnels.
        try await inOneOfManyTries {
            let tunnel = try await self.tunnel(transport, to: server)
            for number in 1...Self.warmUp {
                try await tunnel.write([1])
                #expect(try await eventually { tunnel.receivedBytes == number })
                let bytes = try await tunnel.read()
                #expect(bytes == [2])
            }
            let reading = Task { try await tunnel.read() }
            let isLeftToLoop = try await eventually(within: .milliseconds(800)) { tunnel.isBeingRead }
            tunnel.close()
            await #expect(throws: LoadError(.connectionLost, "")) { _ = try await reading.value }
            return isLeftToLoop
        }
        await transport.shutdown()
    }

    private func waitingReader(
        throws code: LoadError.Code, after end: (Tunnel, Task<[UInt8]?, any Error>) -> Void
    ) async throws {
        let (server, transport) = (try echo(), transport())
        let tunnel = try await self.tunnel(transport, to: server)
        try await exchange(tunnel, 20)
        let reading = Task { try await tunnel.read() }
        try await Task.sleep(for: .milliseconds(20))
        end(tunnel, reading)
        await #expect(throws: LoadError(code, "")) { _ = try await reading.value }
        await transport.shutdown()
    }

    @Test func aWaitingReaderIsCancelled() async throws {
        try await waitingReader(throws: .cancelled) { $1.cancel() }
    }

    @Test func aWaitingReaderLearnsThatItsTunnelWasClosed() async throws {
        try await waitingReader(throws: .connectionLost) { tunnel, _ in tunnel.close() }
    }

    /// Sends the answers to twenty messages, and then does something else.
    private func quickPeer(then body: @escaping @Sendable (TestConnection) -> Void) throws -> TestServer {
        try TestServer { connection in
            for _ in 0..<20 { connection.write(connection.read()) }
            body(connection)
            connection.awaitEnd()
        }
    }

    @Test func bytesThatComeLaterThanAWaitComeByTheLoop() async throws {
        let transport = transport(waiting: .milliseconds(50))
        let server = try quickPeer { connection in
            let last = connection.read()
            usleep(200_000)
            connection.write(last)
        }
        let tunnel = try await self.tunnel(transport, to: server)
        try await exchange(tunnel, 21)
        await transport.shutdown()
    }

    @Test func bytesAreReceivedThoughTheReaderStaysAway() async throws {
        let (transport, server) = (transport(), try quickPeer { $0.write("more") })
        let tunnel = try await self.tunnel(transport, to: server)
        try await exchange(tunnel, 20)
        let sent = tunnel.sentBytes
        while tunnel.receivedBytes < sent + 4 { try await Task.sleep(for: .milliseconds(1)) }
        await transport.shutdown()
    }

    private actor Reader {
        func read(_ tunnel: Tunnel) async throws -> [UInt8]? { try await tunnel.read() }
    }

    @Test func anActorReadsOnAfterATaskThatWaitedItself() async throws {
        let (transport, server) = (transport(), try quickPeer { $0.write($0.read()) })
        let tunnel = try await self.tunnel(transport, to: server)
        try await exchange(tunnel, 20)
        let reader = Reader()
        async let answer = reader.read(tunnel)
        try await tunnel.write(Array("more".utf8))
        #expect(try await answer == Array("more".utf8))
        await transport.shutdown()
    }
}
