import Glibc
import TestSupport
import Testing

@testable import SallyportDoor

/// Programs of another user, beside a program of the door's own user that takes its time.
@Suite(.timeLimit(.minutes(1)), .enabled(if: geteuid() == 0, "Only root can be another user."))
struct OtherUsersTests {
    private let world: World

    init() throws { world = try World() }

    /// A program of another user, which connects so many times.
    ///
    /// - Parameter then: what it does with the connections, which are in `held`.
    private func stranger(
        _ number: UInt32 = 65532, at place: DoorPlace, connecting count: Int, then end: String
    ) throws -> ChildProcess {
        guard case .tcp(_, let port) = place else { throw Unexpected("\(place) has no port.") }
        let script = """
            import socket, sys, time
            place, count = ("127.0.0.1", int(sys.argv[1])), int(sys.argv[2])
            def connection():
                try: return socket.create_connection(place, timeout=10)
                # It was made and reset before connect(2) had told of it.
                except ConnectionResetError: return None
            held = [connection() for _ in range(count)]
            def rest(one):
                try: return one.makefile("rb").read() if one else b"reset"
                except ConnectionResetError: return b"reset"
            \(end)
            """
        let user = ["setpriv", "--reuid", "\(number)", "--clear-groups", "/usr/bin/python3", "-c"]
        return try ChildProcess("/usr/bin/env", user + [script, "\(port)", "\(count)"])
    }

    /// A door with little room for programs that have not said where they lead.
    ///
    /// - Parameter dismissalTime: long, so that a program that may not come in speaks in time on a busy machine, too.
    private func narrowDoor(
        credential: DoorCredential? = nil, dismissalTime: Duration = .seconds(30)
    ) async throws -> DoorApp {
        try await DoorApp(in: world) { configuration in
            configuration.limits.dismissalTime = dismissalTime
            configuration.credential = credential
            configuration.limits.greetings = 2
            configuration.limits.greetingTimeout = .seconds(600)
        }
    }

    /// A program of the door's user that has said half of what it wants.
    private func ownProgram(at app: DoorApp) async throws -> DoorClient {
        let client = try app.visit()
        client.send("CONNECT ")
        let isIn = try await eventually { await app.door.connectionCount == 1 }
        try #require(isIn)
        return client
    }

    @Test func aUserWhoMayNotComeInIsToldAtOnceAndTakesNoPlace() async throws {
        let server = try world.mirror(isSecure: false)
        let app = try await narrowDoor()
        let client = try await ownProgram(at: app)
        let counting = """
            for one in held: one.sendall(b"GET http://a.example/ HTTP/1.1\\r\\n\\r\\n")
            print(sum(rest(one).startswith(b"HTTP/1.1 403 ") for one in held))
            """
        let other = try await stranger(at: app.places[0], connecting: 20, then: counting)
            .outcome(within: .seconds(30))
        #expect(other.output == "20\n", "\(other.error)")
        #expect(try await eventually { app.records.count == 20 })
        #expect(app.records.allSatisfy { $0.end == "notAdmitted" && $0.user == 65532 })
        client.send("\(try server.named) HTTP/1.1\r\n\r\n")
        #expect(client.head().hasPrefix("HTTP/1.1 200 "))
        await app.door.shutdown()
    }

    /// The door has taken the connection before the program speaks.
    @Test func aUserWhoMayNotComeInIsToldInItsProtocol() async throws {
        let app = try await narrowDoor()
        let counting = """
            time.sleep(0.1)
            for one in held: one.sendall(bytes([5, 1, 0]))
            print(sum(rest(one) == bytes([5, 255]) for one in held))
            """
        let other = try await stranger(at: app.places[0], connecting: 3, then: counting)
            .outcome(within: .seconds(30))
        #expect(other.output == "3\n", "\(other.error)")
        #expect(try await eventually { app.records.count == 3 })
        #expect(app.records.allSatisfy { $0.end == "notAdmitted" && $0.form == "socks5" })
        await app.door.shutdown()
    }

    @Test func silentConnectionsOfAUserWhoMayNotComeInEndSoon() async throws {
        let app = try await narrowDoor(dismissalTime: DoorLimits().dismissalTime)
        let other = try stranger(at: app.places[0], connecting: 100, then: "time.sleep(60)")
        #expect(try await eventually { app.records.count == 100 }, "\(other.error)")
        #expect(app.records.allSatisfy { $0.end == "notAdmitted" && $0.form == nil && $0.user == 65532 })
        other.signal(SIGKILL)
        _ = try await other.outcome()
        await app.door.shutdown()
    }

    /// A program of any user may still show the credential, so the door has to wait for it.
    @Test func silentConnectionsGiveWayToOthersOfTheirUserOnly() async throws {
        let server = try world.mirror(isSecure: false)
        let app = try await narrowDoor(credential: DoorCredential())
        let client = try await ownProgram(at: app)
        let other = try stranger(at: app.places[0], connecting: 20, then: "time.sleep(60)")
        #expect(try await eventually { app.records.count == 18 }, "\(other.error)")
        #expect(app.records.allSatisfy { $0.end == "tooSlow" && $0.user == 65532 })
        client.send("\(try server.named) HTTP/1.1\r\n\r\n")
        #expect(client.head().hasPrefix("HTTP/1.1 200 "))
        other.signal(SIGKILL)
        _ = try await other.outcome()
        await app.door.shutdown()
    }

    /// Many users may be one person's, and would take all places of a door if each had as many silent connections.
    @Test func silentConnectionsOfSeveralUsersTakeNoMorePlacesThanThoseOfOne() async throws {
        let server = try world.mirror(isSecure: false)
        let app = try await narrowDoor(credential: DoorCredential())
        let client = try await ownProgram(at: app)
        let first = try stranger(65532, at: app.places[0], connecting: 20, then: "time.sleep(60)")
        #expect(try await eventually { app.records.count == 18 }, "\(first.error)")
        let second = try stranger(65533, at: app.places[0], connecting: 20, then: "time.sleep(60)")
        #expect(try await eventually { app.records.count == 38 }, "\(second.error)")
        #expect(app.records.filter { $0.user == 65532 }.count == 19, "The user who has most gives way.")
        #expect(app.records.allSatisfy { $0.end == "tooSlow" && $0.user != geteuid() })
        #expect(await app.door.connectionCount == 3)
        client.send("\(try server.named) HTTP/1.1\r\n\r\n")
        #expect(client.head().hasPrefix("HTTP/1.1 200 "))
        for other in [first, second] {
            other.signal(SIGKILL)
            _ = try await other.outcome()
        }
        await app.door.shutdown()
    }

    @Test func aForwardedPlaceIsClosedToThoseWhoWouldNeedTheCredential() async throws {
        let server = try world.mirror(isSecure: false)
        let app = try await DoorApp(in: world, to: server.named) { $0.credential = DoorCredential() }
        let counting = "print(sum(rest(one) in (b'', b'reset') for one in held))"
        let other = try await stranger(at: app.places[1], connecting: 3, then: counting)
            .outcome(within: .seconds(30))
        #expect(other.output == "3\n", "\(other.error)")
        #expect(try await eventually { app.records.count == 3 })
        #expect(app.records.allSatisfy { $0.end == "notAdmitted" && $0.form == "forward" })
        #expect(server.acceptedConnections == 0)
        await app.door.shutdown()
    }
}
