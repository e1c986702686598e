import Glibc
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportSocket

/// Connections, direct and through a relay, with TLS to the server and without.
@Suite(.timeLimit(.minutes(1)))
struct SocketConnectionTests {
    private let world: World
    private let app: SocketApp

    init() throws {
        world = try World()
        app = try SocketApp(in: world)
    }

    @Test(arguments: [false, true], [false, true])
    func ourEndReachesTheServerAndItsAnswerComesWhole(_ isRelayed: Bool, _ isSecure: Bool) async throws {
        let server = try world.echo(isSecure: isSecure)
        let relay = isRelayed ? try world.relayed() : nil
        let connection = try await app.open(server, isSecure: isSecure)
        #expect(connection.decision?.route == (isRelayed ? .relay : .direct))
        let bytes = payload(1_000_000)
        for start in stride(from: 0, to: bytes.count, by: 250_000) {
            try await connection.write(Array(bytes[start..<start + 250_000]))
        }
        connection.closeWrite()
        connection.closeWrite()
        #expect(try await connection.readAll() == bytes)
        #expect(connection.sentBytes == bytes.count && connection.receivedBytes == bytes.count)
        #expect(relay?.acceptedConnections ?? 1 == 1 && server.acceptedConnections == 1)
        await #expect(throws: LoadError(.invalidRequest, "")) { try await connection.write([1]) }
    }

    /// The server sends much before it reads anything: both directions flow at once, and neither waits for the other.
    @Test(arguments: [false, true])
    func bothDirectionsFlowAtOnce(_ isSecure: Bool) async throws {
        let server = try world.mirror(isSecure: isSecure)
        let connection = try await app.open(server, isSecure: isSecure)
        let bytes = payload(2_000_000)
        async let received = connection.readAll()
        for start in stride(from: 0, to: bytes.count, by: 100_000) {
            try await connection.write(Array(bytes[start..<start + 100_000]))
        }
        connection.closeWrite()
        #expect(try await received == bytes)
    }

    /// The server pauses: some is sent by the writer itself, some by the loop once there is room again, some by both.
    @Test(arguments: [false, true], [false, true])
    func writtenBytesArriveInOrder(_ isRelayed: Bool, _ isSecure: Bool) async throws {
        let arrived = Lock<[UInt8]>([])
        let server = try world.server(isSecure: isSecure) { client in
            var bytes: [UInt8] = []
            usleep(200_000)
            while case let chunk = client.read(upTo: 200_000), !chunk.isEmpty {
                if bytes.count >> 20 != (bytes.count + chunk.count) >> 20 { usleep(20_000) }
                bytes += chunk
            }
            arrived.withLock { [bytes] in $0 = bytes }
            client.end()
        }
        let relay = isRelayed ? try world.relayed() : nil
        let connection = try await app.open(server, isSecure: isSecure)
        let bytes = payload(5_000_000)
        var (start, length) = (0, 1)
        while start < bytes.count {
            try await connection.write(Array(bytes[start..<min(bytes.count, start + length)]))
            start += length
            length = length &* 31 % 150_001
        }
        connection.closeWrite()
        #expect(try await connection.readAll().isEmpty)
        #expect(arrived.withLock { $0 } == bytes && connection.sentBytes == bytes.count)
        _ = relay
    }

    /// What is read ahead of one connection reaches no other, also where a reader pauses within a record.
    @Test(arguments: [false, true], [false, true])
    func connectionsThatReadInTurnsMixNothing(_ isRelayed: Bool, _ isSecure: Bool) async throws {
        let server = try world.server(isSecure: isSecure) { client in
            guard let seed = client.read(upTo: 1).first else { return }
            // Records of odd lengths, so that turns end within them.
            let bytes = payload(400_000, seed: seed)
            for start in stride(from: 0, to: bytes.count, by: 10_007) {
                guard client.write(Array(bytes[start..<min(start + 10_007, bytes.count)])) else { return }
            }
            client.end()
        }
        let relay = isRelayed ? try world.relayed() : nil
        try await withThrowingTaskGroup(of: Void.self) { group in
            for seed in UInt8(1)...6 {
                group.addTask {
                    let connection = try await app.open(server, isSecure: isSecure)
                    try await connection.write([seed])
                    var all: [UInt8] = []
                    while let some = try await connection.read(upTo: 1000 * Int(seed)) {
                        all += some
                        if all.count % 7 == 0 { try await Task.sleep(for: .milliseconds(1)) }
                    }
                    #expect(all == payload(400_000, seed: seed))
                }
            }
            try await group.waitForAll()
        }
        _ = relay
    }

    @Test(arguments: [false, true])
    func theServersEndLeavesOurSideOpen(_ isRelayed: Bool) async throws {
        let late = Lock<[UInt8]>([])
        let server = try world.server(isSecure: true) { client in
            client.write(Array("first".utf8))
            client.end()
            let bytes = client.readAll()
            late.withLock { $0 = bytes }
        }
        let relay = isRelayed ? try world.relayed() : nil
        let connection = try await app.open(server, isSecure: true)
        #expect(try await connection.readAll() == Array("first".utf8))
        try await connection.write("late")
        await connection.shutdown()
        #expect(try await eventually { late.withLock { $0 } == Array("late".utf8) })
        _ = relay
    }

    @Test(arguments: [false, true])
    func anEndOfTCPAloneIsNoEndOfTLS(_ isRelayed: Bool) async throws {
        let server = try world.server(isSecure: true) { $0.write(Array("half".utf8)) }
        let relay = isRelayed ? try world.relayed() : nil
        let connection = try await app.open(server, isSecure: true)
        let error = await #expect(throws: LoadError.self) { try await connection.readAll() }
        #expect(error?.code == .connectionLost)
        _ = relay
    }

    /// The relay ends one direction with the server's FIN, and would carry a close_notify to the server in the other
    /// one: also while the reason of the loss is asked for, when the owner may close the connection.
    @Test(arguments: [false, true])
    func whatIsCutOffThroughARelayLooksLikeNoEndToTheServer(_ isClosedMeanwhile: Bool) async throws {
        let (isAsked, ended, isOver) = (Lock(false), Lock<Bool?>(nil), TaskSignal())
        let server = try world.server(isSecure: true) { client in
            _ = client.read(upTo: 4)
            if let descriptor = (client as? TestTLSConnection)?.descriptor { shutdown(descriptor, Int32(SHUT_WR)) }
            _ = client.readAll()
            ended.withLock { [hasEnded = client.peerEnded] in $0 = hasEnded }
        }
        let relay = try world.relayed()
        world.gate.whenAsked {
            isAsked.withLock { $0 = true }
            if isClosedMeanwhile { await isOver.wait() }
        }
        let connection = try await app.open(server, isSecure: true)
        try await connection.write("half")
        let reading = Task { try await connection.readAll() }
        #expect(try await eventually { isAsked.withLock { $0 } })
        if isClosedMeanwhile { connection.close() }
        await #expect(throws: LoadError(.connectionLost, "")) { try await reading.value }
        #expect(try await eventually { ended.withLock { $0 } != nil })
        #expect(ended.withLock { $0 } == false)
        isOver.send()
        _ = relay
    }

    /// close_notify on the TLS to the relay is the server's FIN; the end of TCP alone may be an attacker's.
    @Test func anEndOfTCPAloneAtTheRelayIsNoEndEither() async throws {
        let server = try world.mirror(isSecure: false)
        let relay = try world.relayed { connection, tls in
            guard let client = tls.accept(connection), client.readHead() != nil else { return }
            client.write("HTTP/1.1 200 OK\r\n\r\nhalf")
        }
        let connection = try await app.open(server, isSecure: false)
        let error = await #expect(throws: LoadError.self) { try await connection.readAll() }
        #expect(error?.code == .connectionLost)
        _ = relay
    }

    /// A relay that gives the tunnel up when one direction ends.
    @Test func aRelayThatKnowsNoHalfCloseIsToldApart() async throws {
        let server = try world.echo(isSecure: false)
        let relay = try world.relayed { connection, tls in
            guard let client = tls.accept(connection), client.readHead() != nil else { return }
            client.write("HTTP/1.1 200 OK\r\n\r\n")
            while !client.read().isEmpty {}
        }
        let connection = try await app.open(server, isSecure: false)
        try await connection.write("question")
        connection.closeWrite()
        let error = await #expect(throws: LoadError.self) { try await connection.readAll() }
        #expect(error?.message.contains("half-close") == true, "\(String(describing: error))")
        _ = relay
    }

    @Test(arguments: [false, true])
    func closingLooksLikeNoEndToTheServer(_ isSecure: Bool) async throws {
        let ended = Lock<Bool?>(nil)
        let server = try world.server(isSecure: isSecure) { client in
            client.write([1])
            _ = client.readAll()
            // Without TLS, a reset is told by a write.
            let isEnd = isSecure ? client.peerEnded : client.write([2])
            ended.withLock { $0 = isEnd }
        }
        let connection = try await app.open(server, isSecure: isSecure)
        #expect(try await connection.read() == [1])
        try await connection.write("cut off")
        connection.reset()
        await #expect(throws: LoadError.self) { try await connection.read() }
        #expect(try await eventually { ended.withLock { $0 } == false })
        connection.reset()
    }

    @Test func releasingItClosesIt() async throws {
        let server = try TestServer { $0.awaitEnd() }
        do { _ = try await app.open(server, isSecure: false) }
        #expect(try await eventually { server.openConnections == 0 })
    }

    /// A reader that stops stops the server: what lies between is bounded.
    @Test(arguments: [false, true])
    func readingSlowlySlowsTheServerDown(_ isSecure: Bool) async throws {
        let sent = Lock(0)
        let server = try world.server(isSecure: isSecure) { client in
            let chunk = [UInt8](repeating: 7, count: 16384)
            while sent.withLock({ $0 }) < 64 << 20, client.write(chunk) { sent.withLock { $0 += chunk.count } }
        }
        let connection = try await app.open(server, isSecure: isSecure)
        var last = -1
        // Until nothing moves any more.
        while sent.withLock({ $0 }) != last {
            last = sent.withLock { $0 }
            try await Task.sleep(for: .milliseconds(200))
        }
        #expect(last < 32 << 20, "\(last)")
        #expect(connection.receivedBytes <= 512 << 10)
        connection.reset()
    }

    @Test func aReadGivesNoMoreThanIsAskedAndLosesNothing() async throws {
        let server = try world.server(isSecure: false) { client in
            client.write(Array("abcdefg".utf8))
            client.end()
        }
        let connection = try await app.open(server, isSecure: false)
        var pieces: [UInt8] = []
        while let piece = try await connection.read(upTo: 3) {
            #expect(piece.count <= 3 && !piece.isEmpty)
            pieces += piece
        }
        #expect(pieces == Array("abcdefg".utf8))
        await #expect(throws: LoadError(.invalidRequest, "")) { try await connection.read(upTo: 0) }
    }

    @Test func aSecondReaderIsRefused() async throws {
        let server = try world.mirror(isSecure: false)
        let connection = try await app.open(server, isSecure: false)
        async let first = connection.read()
        #expect(try await eventually { connection.channel.isBeingRead })
        await #expect(throws: LoadError(.invalidRequest, "")) { try await connection.read() }
        try await connection.write("x")
        #expect(try await first == Array("x".utf8))
    }

    @Test func cancellingAReadClosesTheConnection() async throws {
        let server = try world.mirror(isSecure: true)
        let connection = try await app.open(server, isSecure: true)
        let reading = Task { () -> LoadError? in
            do throws(LoadError) {
                _ = try await connection.read()
                return nil
            } catch { return error }
        }
        #expect(try await eventually { connection.channel.isBeingRead })
        reading.cancel()
        #expect(await reading.value?.code == .cancelled)
        #expect(try await eventually { server.openConnections == 0 })
    }

    // MARK: Scopes

    @Test func aScopeEndsTheConnectionInPeace() async throws {
        let seen = Lock<[UInt8]?>(nil)
        let server = try world.server(isSecure: true) { client in
            let bytes = client.readAll()
            seen.withLock { $0 = client.peerEnded ? bytes : [] }
            client.end()
        }
        let bytes = payload(500_000)
        try await app.sockets.withConnection(
            to: "\(server.endpoint)", isSecure: true, app.configuration()
        ) { try await $0.write(bytes) }
        #expect(try await eventually { seen.withLock { $0 } == bytes })
    }

    @Test func aScopeThatThrowsResetsTheConnection() async throws {
        struct Stop: Error {}
        let ended = Lock<Bool?>(nil)
        let server = try world.server(isSecure: true) { client in
            _ = client.readAll()
            ended.withLock { $0 = client.peerEnded }
        }
        await #expect(throws: Stop.self) {
            try await app.sockets.withConnection(
                to: "\(server.endpoint)", isSecure: true, app.configuration()
            ) { connection in
                try await connection.write("half")
                throw Stop()
            }
        }
        #expect(try await eventually { ended.withLock { $0 } == false })
    }

    @Test func aScopeInACancelledTaskThrowsSo() async throws {
        let server = try world.mirror(isSecure: false)
        let address = try "\(server.endpoint)"
        let sockets = app.sockets
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await sockets.withConnection(to: address, isSecure: false) { _ in }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    // MARK: Times

    @Test func idleConnectionsEnd() async throws {
        let server = try world.mirror(isSecure: false)
        let connection = try await app.open(server, isSecure: false) { $0.idleTimeout = .seconds(2) }
        let error = await #expect(throws: LoadError.self) { try await connection.read() }
        #expect(error?.code == .idleTimeout)
        await #expect(throws: LoadError(.idleTimeout, "")) { try await connection.write("late") }
        #expect(try await eventually { server.openConnections == 0 })
    }

    @Test func activeConnectionsEndAfterTheirLifetimeOnly() async throws {
        let server = try world.server(isSecure: false) { client in
            for _ in 0..<400 where client.write([1]) { usleep(20_000) }
        }
        let start = ContinuousClock.now
        let connection = try await app.open(server, isSecure: false) {
            $0.idleTimeout = .seconds(4)
            $0.lifetime = .seconds(6)
        }
        let error = await #expect(throws: LoadError.self) { try await connection.readAll() }
        #expect(error?.code == .resourceTimeout)
        // Longer than without a byte.
        #expect(start.duration(to: .now) >= .seconds(5))
    }

    @Test func aServerThatKeepsItsSideOpenIsWaitedForBriefly() async throws {
        let tls = world.originTLS
        let server = try TestServer { connection in
            guard let client = tls.accept(connection) else { return }
            _ = client.readAll()
            connection.awaitEnd()
        }
        let connection = try await app.open(server, isSecure: true) { $0.closeTimeout = .milliseconds(200) }
        let start = ContinuousClock.now
        await connection.shutdown()
        await connection.shutdown()
        #expect(start.duration(to: .now) < .seconds(10))
    }

    @Test func aServerThatDoesNotAnswerIsATimeOut() async throws {
        let server = try TestServer { $0.awaitEnd() }
        let error = await #expect(throws: LoadError.self) {
            try await app.open(server, isSecure: true) { $0.connectTimeout = .milliseconds(200) }
        }
        #expect(error.map { SocketError($0).number } == 2, "\(String(describing: error))")
    }

    @Test func aRefusedConnectionIsNumberOneWithItsCause() async throws {
        let server = try TestServer { _ in }
        let endpoint = try server.endpoint
        server.stop()
        let error = await #expect(throws: LoadError.self) {
            try await app.sockets.connect(to: endpoint, isSecure: false)
        }
        #expect(error.map { SocketError($0).number } == 1)
        #expect(error?.code == .cannotConnect && error?.step == .connect)
    }

    @Test(arguments: ["", "host", "host:0", "host:65536", "a b:1", ":22"])
    func anAddressThatIsNoneIsRefused(_ address: String) async {
        let error = await #expect(throws: LoadError.self) {
            try await app.sockets.connect(to: address, isSecure: false)
        }
        #expect(error?.code == .invalidRequest)
    }
}
