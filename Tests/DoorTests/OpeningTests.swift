import Glibc
import SallyportCore
import TestSupport
import Testing

@testable import SallyportDoor

/// Ways that take long to be opened, since the server does not answer, and the programs that wait behind them.
@Suite(.timeLimit(.minutes(1)))
struct OpeningTests {
    private let world: World
    private let silent: CrowdedServer

    init() throws {
        world = try World()
        silent = try CrowdedServer()
    }

    /// A door that opens one way at a time, and takes all the time for it.
    private func narrowDoor(queueTimeout: Duration = .seconds(600)) async throws -> DoorApp {
        try await DoorApp(in: world) { configuration in
            configuration.limits.openings = 1
            configuration.limits.connectTimeout = .seconds(600)
            configuration.limits.queueTimeout = queueTimeout
        }
    }

    /// A program that has the only turn of the door, for a server that does not answer.
    private func programThatWaits(at app: DoorApp) async throws -> DoorClient {
        let client = try app.visit()
        client.send("CONNECT localhost:\(silent.port) HTTP/1.1\r\n\r\n")
        let isAwaited = try await eventually { silent.isAwaited }
        try #require(isAwaited)
        return client
    }

    /// Lets the connection end by a reset, once the client is released.
    private func resetAtEnd(_ client: DoorClient) {
        var now = linger(l_onoff: 1, l_linger: 0)
        setsockopt(client.descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
    }

    @Test(arguments: [false, true]) func aProgramThatLeavesFreesItsTurn(isReset: Bool) async throws {
        let server = try world.mirror(isSecure: false)
        let app = try await narrowDoor()
        var first: DoorClient? = try await programThatWaits(at: app)
        let second = try app.visit()
        second.send("CONNECT \(try server.named) HTTP/1.1\r\n\r\n")
        #expect(try await eventually { await app.door.waitingCount == 1 })
        if isReset, let client = first { resetAtEnd(client) }
        first = nil
        #expect(second.head().hasPrefix("HTTP/1.1 200 "))
        #expect(try await app.record().end == "programLost")
        await app.door.shutdown()
    }

    @Test func aProgramThatLeavesTheQueueIsForgotten() async throws {
        let app = try await narrowDoor()
        let first = try await programThatWaits(at: app)
        var second: DoorClient? = try app.visit()
        second?.send("CONNECT localhost:1 HTTP/1.1\r\n\r\n")
        #expect(try await eventually { await app.door.waitingCount == 1 })
        second = nil
        #expect(try await eventually { await app.door.waitingCount == 0 })
        #expect(try await app.record().end == "programLost")
        withExtendedLifetime(first) {}
        await app.door.shutdown()
    }

    @Test func whatAProgramSendsEarlyIsKeptEvenIfItHasEndedItsSide() async throws {
        let server = try world.mirror(isSecure: false)
        let app = try await narrowDoor()
        var first: DoorClient? = try await programThatWaits(at: app)
        let second = try app.visit()
        second.send("CONNECT \(try server.named) HTTP/1.1\r\n\r\nhel")
        #expect(try await eventually { await app.door.waitingCount == 1 })
        second.send("lo")
        second.endSending()
        // When the door has answered another program, it has seen the end that came before.
        let other = try app.visit()
        other.send("GET / HTTP/1.1\r\n\r\n")
        #expect(other.text().hasPrefix("HTTP/1.1 400 "))
        if let client = first { resetAtEnd(client) }
        first = nil
        #expect(second.head().hasPrefix("HTTP/1.1 200 "))
        #expect(second.text() == "hello")
        await app.door.shutdown()
    }

    @Test func aServerThatDoesNotAnswerInTimeIsATimeOut() async throws {
        let app = try await DoorApp(in: world) { $0.limits.connectTimeout = .milliseconds(200) }
        let client = try app.visit()
        client.send("CONNECT localhost:\(silent.port) HTTP/1.1\r\n\r\n")
        let answer = client.text()
        #expect(answer.hasPrefix("HTTP/1.1 504 ") && answer.contains("error=connection_timeout"), "\(answer)")
        await app.door.shutdown()
    }

    @Test func theQueueHasATimeLimit() async throws {
        let app = try await narrowDoor(queueTimeout: .milliseconds(100))
        let first = try await programThatWaits(at: app)
        let http = try app.visit()
        http.send("CONNECT localhost:1 HTTP/1.1\r\n\r\n")
        let answer = http.text()
        #expect(answer.hasPrefix("HTTP/1.1 503 ") && answer.contains("error=connection_limit_reached"))
        let socks = try app.visit()
        socks.send([5, 1, 0, 5, 1, 0, 3, 1, 0x61, 0, 80])
        #expect(socks.readAll() == [5, 0] + SOCKSReply.failure.bytes)
        // A program that has its answer may have its record later.
        #expect(try await eventually { app.records.filter { $0.end == "tooBusy" }.count == 2 })
        withExtendedLifetime(first) {}
        await app.door.shutdown()
    }

    @Test func aShutdownEndsWhatWaits() async throws {
        let app = try await narrowDoor()
        let first = try await programThatWaits(at: app)
        let second = try app.visit()
        second.send("CONNECT localhost:1 HTTP/1.1\r\n\r\n")
        #expect(try await eventually { await app.door.waitingCount == 1 })
        await app.door.shutdown()
        // The door says why, unless the connection is reset before.
        for client in [first, second] {
            let text = client.text()
            #expect(text.isEmpty || text.hasPrefix("HTTP/1.1 50"), "\(text)")
        }
        #expect(app.records.count == 2)
    }

    @Test func oneUserDoesNotTakeAllPlaces() {
        let limits = DoorLimits()
        #expect(limits.connectionsPerUser <= limits.connections / 2)
    }
}
