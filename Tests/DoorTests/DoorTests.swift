import Glibc
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportDoor

/// Programs that come through a door, by a real relay and directly.
@Suite(.timeLimit(.minutes(1)))
struct DoorTests {
    private let world: World

    init() throws { world = try World() }

    private static func payload(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var index = 0
        while index < count {
            bytes[index] = UInt8(truncatingIfNeeded: index &* 31 >> 3)
            index += 1
        }
        return bytes
    }

    // MARK: Ways in

    @Test(arguments: [false, true]) func connectLeadsThroughTheRelay(isRelayed: Bool) async throws {
        let server = try world.mirror(isSecure: false)
        let relay = isRelayed ? try world.relayed() : nil
        let app = try await DoorApp(in: world)
        let client = try app.tunnel(to: "\(server.named)")
        client.send("hello")
        #expect(client.read(exactly: 5) == Array("hello".utf8))
        client.endSending()
        #expect(client.readAll().isEmpty)
        let record = try await app.record()
        #expect(record.form == "connect" && record.end == "complete" && record.user == geteuid())
        #expect(record.sent == 5 && record.received == 5 && record.target == "localhost:\(server.port)")
        #expect(record.route == (isRelayed ? "relay" : "direct") && record.rule == "default")
        #expect(relay?.acceptedConnections ?? 1 == 1)
        await app.door.shutdown()
    }

    @Test func socksLeadsThroughTheRelay() async throws {
        let server = try world.mirror(isSecure: false)
        let relay = try world.relayed()
        let app = try await DoorApp(in: world)
        let client = try app.visit()
        let name = Array("localhost".utf8)
        client.send(
            [5, 1, 0, 5, 1, 0, 3, UInt8(name.count)] + name + [UInt8(server.port >> 8), UInt8(server.port & 255)])
        #expect(client.read(exactly: 12) == [5, 0] + SOCKSReply.succeeded.bytes)
        client.send("hello")
        #expect(client.read(exactly: 5) == Array("hello".utf8))
        #expect(relay.acceptedConnections == 1)
        await app.door.shutdown()
    }

    @Test func aForwardedPlaceLeadsToItsServer() async throws {
        let server = try world.mirror(isSecure: false)
        let relay = try world.relayed()
        let app = try await DoorApp(in: world, to: server.named)
        let client = try app.visit(1)
        client.send("hello")
        #expect(client.read(exactly: 5) == Array("hello".utf8) && relay.acceptedConnections == 1)
        await app.door.shutdown()
    }

    @Test func aUnixSocketIsADoorToo() async throws {
        let folder = try TemporaryDirectory()
        let server = try world.mirror(isSecure: false)
        let app = try await DoorApp(in: world, on: [.unixSocket(path: folder.file("door"))])
        let client = try app.tunnel(to: "\(server.named)")
        client.send("hello")
        #expect(client.read(exactly: 5) == Array("hello".utf8))
        var status = stat()
        #expect(lstat(folder.file("door"), &status) == 0 && status.st_mode & 0o777 == 0o600)
        await app.door.shutdown()
        #expect(lstat(folder.file("door"), &status) != 0)
    }

    @Test func oneAbsoluteRequestGoesToItsServer() async throws {
        let heads = Lock<[String]>([])
        let server = try TestServer { connection in
            guard let head = connection.readHead() else { return }
            heads.withLock { $0.append(head) }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        }
        let relay = try world.relayed()
        let app = try await DoorApp(in: world)
        let client = try app.visit()
        let url = "http://\(try server.named)/a"
        // The second may be for another server; it goes nowhere.
        client.send("GET \(url) HTTP/1.1\r\nHost: x\r\n\r\nGET \(url)b HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(client.text().hasSuffix("\r\n\r\nok"))
        #expect(heads.withLock { $0 }.count == 1 && heads.withLock { $0 }[0].hasPrefix("GET /a HTTP/1.1\r\n"))
        #expect(try await app.record().form == "http" && relay.acceptedConnections == 1)
        await app.door.shutdown()
    }

    @Test(arguments: [
        "Content-Length: 10\r\n\r\n0123456789", "Transfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n0\r\n\r\n",
    ])
    func theBodyGoesToTheServerAndNothingBehindIt(_ body: String) async throws {
        let seen = Lock<[UInt8]>([])
        let sent = body.split(separator: "\r\n\r\n", maxSplits: 1)[1]
        let length = sent.utf8.count
        let server = try TestServer { connection in
            _ = connection.readHead()
            var bytes: [UInt8] = []
            while bytes.count < length, case let more = connection.read(), !more.isEmpty { bytes += more }
            // What was sent behind it would be here by now.
            usleep(100_000)
            var rest = [UInt8](repeating: 0, count: 1000)
            let count = recv(connection.descriptor, &rest, rest.count, Int32(MSG_DONTWAIT))
            bytes += rest.prefix(max(0, count))
            seen.withLock { [bytes] in $0 = bytes }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        }
        let app = try await DoorApp(in: world)
        let client = try app.visit()
        client.send("POST http://\(try server.named)/ HTTP/1.1\r\n")
        usleep(10_000)
        client.send("\(body)GET http://localhost:1/ HTTP/1.1\r\n\r\n")
        #expect(client.text().hasSuffix("ok"))
        #expect(String(decoding: seen.withLock { $0 }, as: UTF8.self) == sent)
        await app.door.shutdown()
    }

    @Test func anEarlyAnswerEndsTheExchangeThoughTheBodyNeverComes() async throws {
        let server = try TestServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
            connection.endSending()
            connection.awaitEnd()
        }
        let app = try await DoorApp(in: world)
        let client = try app.visit()
        client.send("POST http://\(try server.named)/ HTTP/1.1\r\nContent-Length: 100\r\n\r\n0123456789")
        #expect(client.text().hasSuffix("no"))
        // The program keeps its connection open.
        #expect(try await app.record().end == "complete")
        #expect(try await eventually { await app.door.connectionCount == 0 })
        await app.door.shutdown()
    }

    /// The program has not read the answer, and sends the rest of its body when the end of the answer has come to the
    /// door.
    @Test func anEarlyAnswerReachesAProgramThatSendsEverythingBeforeItReads() async throws {
        let answer = Self.payload(50_000)
        let isOver = Signal()
        let server = try TestServer { connection in
            _ = connection.readHead()
            let head = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 50000\r\nConnection: close\r\n\r\n"
            connection.write(Array(head.utf8) + answer)
            connection.endSending()
            connection.awaitEnd()
            isOver.fire()
        }
        let app = try await DoorApp(in: world)
        let client = try app.visit()
        let body = Self.payload(8 << 20)
        client.send("POST http://\(try server.named)/ HTTP/1.1\r\nContent-Length: \(body.count + 10)\r\n\r\n0123456789")
        await isOver.wait()
        #expect(client.send(body))
        #expect(client.head().hasPrefix("HTTP/1.1 413 "))
        #expect(client.readAll() == answer)
        #expect(try await app.record().end == "complete")
        await app.door.shutdown()
    }

    /// The server has gone, and takes no more; what it sent is still at the door, because the program does not read.
    @Test func anAnswerThatWaitsForASlowProgramIsNotCutOff() async throws {
        let answer = Self.payload(250_000)
        let isSent = Signal()
        let server = try TestServer { connection in
            connection.write(answer)
            connection.endSending()
            connection.awaitDelivery()
            // Closed with a byte that was not read: the connection is reset.
            isSent.fire()
        }
        let folder = try TemporaryDirectory()
        let app = try await DoorApp(in: world, on: [.unixSocket(path: folder.file("door"))])
        let client = try app.tunnel(to: "\(server.named)")
        client.send("x")
        await isSent.wait()
        // Longer than the door leaves a program for its end once both directions are over.
        for _ in 0..<30 {
            client.send("more")
            try await Task.sleep(for: .milliseconds(100))
        }
        let isWhole = client.readAll() == answer
        #expect(isWhole)
        await app.door.shutdown()
    }

    @Test func muchFlowsInBothDirectionsAtOnce() async throws {
        let server = try world.mirror(isSecure: false)
        let relay = try world.relayed()
        let app = try await DoorApp(in: world)
        let client = try app.tunnel(to: "\(server.named)")
        let bytes = Self.payload(4 << 20)
        async let echoed = Task.detached { client.read(exactly: bytes.count) }.value
        await Task.detached { _ = client.send(bytes) }.value
        client.endSending()
        #expect(await echoed == bytes && relay.acceptedConnections == 1)
        #expect(client.readAll().isEmpty)
        #expect(try await app.record().received == bytes.count)
        await app.door.shutdown()
    }

    @Test func theServersEndLeavesTheProgramsSideOpen() async throws {
        let arrived = Lock("")
        let server = try TestServer { connection in
            connection.write("first")
            connection.endSending()
            var text: [UInt8] = []
            while case let more = connection.read(), !more.isEmpty { text += more }
            arrived.withLock { [text] in $0 = String(decoding: text, as: UTF8.self) }
        }
        let app = try await DoorApp(in: world)
        let client = try app.tunnel(to: "\(server.named)")
        #expect(client.text() == "first")
        client.send("later")
        client.endSending()
        #expect(try await eventually { arrived.withLock { $0 } == "later" })
        #expect(try await app.record().end == "complete")
        await app.door.shutdown()
    }

    // MARK: Policy

    @Test func whatThePolicyDeniesIsRefusedInEachProtocol() async throws {
        world.gate.route(by: RoutingTable(default: .deny))
        let app = try await DoorApp(in: world, to: try Endpoint("payroll.corp.example:5432"))
        let http = try app.visit()
        http.send("CONNECT payroll.corp.example:443 HTTP/1.1\r\n\r\n")
        let answer = http.text()
        #expect(
            answer.hasPrefix("HTTP/1.1 403 ") && answer.contains("Proxy-Status: sallyport;error=http_request_denied"))
        let absolute = try app.visit()
        absolute.send("GET http://payroll.corp.example/ HTTP/1.1\r\n\r\n")
        #expect(absolute.text().hasPrefix("HTTP/1.1 403 "))
        let socks = try app.visit()
        socks.send([5, 1, 0, 5, 1, 0, 3, 1, 0x61, 0, 80])
        #expect(socks.readAll() == [5, 0] + SOCKSReply.notAllowed.bytes)
        #expect(try app.visit(1).readAll().isEmpty)
        #expect(try await app.record(4).end == "refusedByPolicy")
        await app.door.shutdown()
    }

    @Test(arguments: [Route.deny, .direct]) func anAddressThatNoRuleNamesIsRefused(route: Route) async throws {
        let server = try world.mirror(isSecure: false)
        world.gate.route(by: RoutingTable(default: route))
        let app = try await DoorApp(in: world)
        let client = try app.visit()
        client.send("CONNECT 127.0.0.1:\(server.port) HTTP/1.1\r\n\r\n")
        #expect(client.text().contains("socks5h"))
        #expect(try await app.record().end == "unknownAddress" && server.acceptedConnections == 0)
        await app.door.shutdown()
    }

    @Test func aWithdrawalEndsWhatIsOpenWithinASecond() async throws {
        let server = try world.mirror(isSecure: false)
        let relay = try world.relayed()
        let app = try await DoorApp(in: world)
        let client = try app.tunnel(to: "\(server.named)")
        let start = ContinuousClock.now
        world.gate.withdraw(.wiped)
        #expect(client.readAll().isEmpty && start.duration(to: .now) < Soak.second)
        #expect(try await app.record().end == "withdrawn" && relay.acceptedConnections == 1)
        let next = try app.visit()
        next.send("CONNECT \(try server.named) HTTP/1.1\r\n\r\n")
        #expect(next.text().hasPrefix("HTTP/1.1 403 "))
        await app.door.shutdown()
    }

    @Test func aWithdrawalResetsAProgramThatDoesNotReadWithinASecond() async throws {
        let sent = Lock(0)
        let server = try TestServer { connection in
            let chunk = [UInt8](repeating: 7, count: 64 << 10)
            while connection.write(chunk) { sent.withLock { $0 += 1 } }
        }
        let app = try await DoorApp(in: world)
        let client = try app.tunnel(to: "\(server.named)")
        // All that lies between is full once the server can send no more.
        var (last, stillness) = (0, 0)
        let isFull = try await eventually {
            let count = sent.withLock { $0 }
            stillness = count == last ? stillness + 1 : 0
            last = count
            return count > 0 && stillness >= 20
        }
        #expect(isFull)
        let start = ContinuousClock.now
        world.gate.withdraw(.wiped)
        #expect(try await app.record().end == "withdrawn" && start.duration(to: .now) < Soak.second)
        // What the kernel had for the program already, and then the end.
        _ = client.readAll()
        #expect(try await eventually { server.openConnections == 0 })
        await app.door.shutdown()
    }

    @Test func aNewPolicyEndsWhatItDeniesAndLeavesTheRest() async throws {
        let (denied, allowed) = (try world.mirror(isSecure: false), try world.mirror(isSecure: false))
        let app = try await DoorApp(in: world)
        let (first, second) = (try app.tunnel(to: "\(denied.named)"), try app.tunnel(to: "\(allowed.named)"))
        world.gate.route(
            by: RoutingTable(servers: [.init(try denied.named, route: .deny)], domains: [], default: .direct))
        #expect(first.readAll().isEmpty)
        #expect(try await app.record().end == "refusedByPolicy")
        second.send("on")
        #expect(second.read(exactly: 2) == Array("on".utf8))
        await app.door.shutdown()
    }

    @Test func anAddressIsLeftOnceNoRuleNamesIt() async throws {
        let server = try world.mirror(isSecure: false)
        let address = try Endpoint("127.0.0.1:\(server.port)")
        world.gate.route(by: RoutingTable(servers: [.init(address, route: .direct)], default: .direct))
        let app = try await DoorApp(in: world)
        let (byAddress, byName) = (try app.tunnel(to: "\(address)"), try app.tunnel(to: "\(server.named)"))
        world.gate.route(by: RoutingTable(default: .direct))
        #expect(byAddress.readAll().isEmpty)
        #expect(try await app.record().end == "unknownAddress")
        byName.send("on")
        #expect(byName.read(exactly: 2) == Array("on".utf8))
        await app.door.shutdown()
    }

    // MARK: Faults

    @Test func aRelayThatDiesInTheMiddleResetsTheProgram() async throws {
        let server = try world.mirror(isSecure: false)
        let relay = try world.relayed()
        let app = try await DoorApp(in: world)
        let client = try app.tunnel(to: "\(server.named)")
        client.send("hello")
        #expect(client.read(exactly: 5) == Array("hello".utf8))
        relay.stop()
        relay.closeConnections()
        #expect(client.readAll().isEmpty)
        #expect(try await app.record().end == "connectionLost")
        await app.door.shutdown()
    }

    @Test func aServerThatIsNotThereIsTold() async throws {
        let app = try await DoorApp(in: world)
        let client = try app.visit()
        client.send("CONNECT localhost:1 HTTP/1.1\r\n\r\n")
        let answer = client.text()
        #expect(answer.hasPrefix("HTTP/1.1 502 ") && answer.contains("error=connection_refused"))
        await app.door.shutdown()
    }

    @Test func aSlowGreetingIsGivenUp() async throws {
        let app = try await DoorApp(in: world) { $0.limits.greetingTimeout = .milliseconds(200) }
        let client = try app.visit()
        client.send("CONN")
        #expect(client.readAll().isEmpty)
        #expect(try await app.record().end == "tooSlow")
        await app.door.shutdown()
    }

    @Test func silentConnectionsGiveWayToOthers() async throws {
        let server = try world.mirror(isSecure: false)
        let app = try await DoorApp(in: world) { $0.limits.greetings = 100 }
        let silent = try (0..<1000).map { _ in try app.visit() }
        let client = try app.tunnel(to: "\(server.named)")
        client.send("hello")
        #expect(client.read(exactly: 5) == Array("hello".utf8))
        #expect(try await eventually { app.records.count >= 900 })
        withExtendedLifetime(silent) {}
        await app.door.shutdown()
    }

    /// A program that is refused may stay for two seconds to read the answer, and may come again at once.
    @Test func aRefusedConnectionTakesThePlaceOfASilentOneUntilItIsOver() async throws {
        let app = try await DoorApp(in: world) { configuration in
            configuration.limits.greetings = 2
            configuration.limits.greetingTimeout = .seconds(600)
        }
        let silent = try app.visit()
        let refused = try app.visit()
        refused.send("GET / HTTP/1.1\r\n\r\n")
        #expect(refused.head().hasPrefix("HTTP/1.1 400 "))
        let next = try app.visit()
        #expect(try await eventually { app.records.contains { $0.end == "tooSlow" } })
        withExtendedLifetime((silent, refused, next)) {}
        await app.door.shutdown()
    }

    @Test func connectionsHaveTheirLimits() async throws {
        let server = try world.mirror(isSecure: false)
        let app = try await DoorApp(in: world) { $0.limits.connectionsPerUser = 3 }
        let open = try (0..<3).map { _ in try app.tunnel(to: "\(server.named)") }
        #expect(throws: (any Error).self) { try app.tunnel(to: "\(server.named)") }
        #expect(await app.door.connectionCount == 3)
        let record = try await app.record()
        #expect(record.end == "tooManyConnections" && record.user == geteuid() && record.place == "\(app.places[0])")
        open[0].endSending()
        #expect(open[0].readAll().isEmpty)
        #expect(try await eventually { await app.door.connectionCount == 2 })
        #expect(throws: Never.self) { try app.tunnel(to: "\(server.named)") }
        await app.door.shutdown()
    }

    @Test func shutdownEndsEverything() async throws {
        let server = try world.mirror(isSecure: false)
        let app = try await DoorApp(in: world)
        let client = try app.tunnel(to: "\(server.named)")
        let silent = try app.visit()
        #expect(try await eventually { await app.door.connectionCount == 2 })
        await app.door.shutdown()
        #expect(client.readAll().isEmpty && silent.readAll().isEmpty)
        #expect(app.records.count == 2)
        #expect(throws: Unexpected.self) { try app.visit() }
        await #expect(throws: DoorError.self) { try await app.door.open() }
    }

    /// The kernel reports closed sockets as those of user 0, and these connections close as soon as they are made.
    @Test(.enabled(if: geteuid() == 0, "Only root can be another user."))
    func connectionsOfAnotherUserThatCloseAtOnceAreNotLetIn() async throws {
        let count = Soak.isOn ? 10_000 : 1000
        let server = try world.mirror(isSecure: false)
        let app = try await DoorApp(in: world)
        guard case .tcp(_, let port) = app.places[0] else { return }
        let script = """
            import socket, struct, sys
            for number in range(int(sys.argv[3])):
                one = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
                one.sendall(b"CONNECT localhost:" + sys.argv[2].encode() + b" HTTP/1.1\\r\\n\\r\\n")
                if number % 2: one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                one.close()
            """
        let other = ["setpriv", "--reuid", "65532", "--clear-groups", "/usr/bin/python3", "-c", script]
        let outcome = try await ChildProcess("/usr/bin/env", other + ["\(port)", "\(server.port)", "\(count)"])
            .outcome(within: .seconds(50))
        #expect(outcome.status == 0, "\(outcome.error)")
        #expect(try await eventually { app.records.count == count })
        #expect(app.records.allSatisfy { $0.target == nil && $0.user != 0 } && server.acceptedConnections == 0)
        await app.door.shutdown()
    }

    // MARK: Places

    @Test func aTakenPortIsNamed() async throws {
        let first = try await DoorApp(in: world)
        await #expect { try await DoorApp(in: world, on: first.places) } throws: { error in
            (error as? DoorError)?.code == .inUse && "\(error)".contains("\(first.places[0])")
        }
        await first.door.shutdown()
    }

    @Test func aSocketFileThatWasLeftBehindIsReplaced() async throws {
        let folder = try TemporaryDirectory()
        let place = DoorPlace.unixSocket(path: folder.file("door"))
        close(try ListeningSocket(place, isForAll: false).descriptor)
        let app = try await DoorApp(in: world, on: [place])
        await #expect { try await DoorApp(in: world, on: [place]) } throws: { ($0 as? DoorError)?.code == .inUse }
        #expect(throws: Never.self) { try app.visit() }
        await app.door.shutdown()
        try folder.write("a file", to: "file")
        await #expect { try await DoorApp(in: world, on: [.unixSocket(path: folder.file("file"))]) } throws: {
            ($0 as? DoorError)?.code == .invalidPlace
        }
    }

    @Test(arguments: ["0.0.0.0", "192.0.2.1", "::", "2001:db8::1"])
    func placesOutsideTheMachineAreRefused(_ address: String) async throws {
        let place = DoorPlace.tcp(try #require(IPAddress(address)), port: 0)
        await #expect { try await DoorApp(in: world, on: [place]) } throws: {
            ($0 as? DoorError)?.code == .invalidPlace
        }
    }

    @Test func aPassedSocketIsTaken() async throws {
        let socket = try ListeningSocket(.loopback(), isForAll: false)
        let server = try world.mirror(isSecure: false)
        let app = try await DoorApp(in: world, on: [.descriptor(socket.descriptor)])
        #expect(app.places == [socket.place])
        #expect(throws: Never.self) { try app.tunnel(to: "\(server.named)") }
        await app.door.shutdown()
        await #expect { try await DoorApp(in: world, on: [.descriptor(0)]) } throws: {
            ($0 as? DoorError)?.code == .invalidPlace
        }
    }
}
