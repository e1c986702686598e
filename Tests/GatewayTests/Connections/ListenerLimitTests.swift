import HTTPTypes
import Logging
import NIOCore
import SallyportCore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// The limits of connections at the control listener of a running gateway, over sockets.
@Suite(.timeLimit(.minutes(2))) struct ListenerLimitTests {
    private static let health = "GET \(ControlAPI.Path.health) HTTP/1.1\r\nHost: localhost\r\n\r\n"
    private static let enrolment = """
        POST \(ControlAPI.Path.enroll) HTTP/1.1\r
        Host: localhost\r
        Authorization: Basic YTpi\r
        Content-Length: 4000\r
        \r

        """

    @Test func oneByteNowAndThenKeepsNoRequestAlive() async throws {
        try await ControlFixture.with(limits: .slow(requestTime: .seconds(1))) { fixture in
            for head in ["", Self.enrolment] {
                let client = try await fixture.connection()
                client.send(head)
                client.send("P", times: 200, every: .milliseconds(50))
                #expect(try await eventually(within: .seconds(8)) { !client.isOpen })
            }
        }
    }

    @Test func aConnectionThatSaysNothingEnds() async throws {
        let limits = ConnectionLimits.slow(handshakeTime: .milliseconds(300), requestTime: .milliseconds(300))
        try await ControlFixture.with(limits: limits) { fixture in
            let ports = [fixture.listeners.controlPort, try #require(fixture.listeners.verificationPort)]
            for port in ports {
                let client = try await TestConnection.openPlain(port: UInt16(port))
                #expect(try await eventually { !client.isOpen })
            }
        }
    }

    @Test func aSecondRequestHasItsOwnTime() async throws {
        try await ControlFixture.with(limits: .slow(requestTime: .seconds(3))) { fixture in
            let client = try await fixture.connection()
            for _ in 0..<4 {
                client.send(Self.health)
                #expect(try await client.head().hasPrefix("HTTP/1.1 200"))
                _ = try await client.read(16)
                // Between requests, the time limit for a request does not apply.
                try await Task.sleep(for: .seconds(1))
                #expect(client.isOpen)
            }
            client.send("GET ")
            #expect(try await eventually(within: .seconds(20)) { !client.isOpen })
        }
    }

    @Test func aSourceHasSoManyConnectionsAtAllListenersTogether() async throws {
        var limits = ConnectionLimits.slow()
        limits.perSource = 3
        try await ControlFixture.with(limits: limits) { fixture in
            let ports = [
                fixture.listeners.controlPort, fixture.listeners.relayPort,
                try #require(fixture.listeners.verificationPort),
            ]
            var clients: [TestConnection] = []
            for port in ports + ports { clients.append(try await TestConnection.openPlain(port: UInt16(port))) }
            #expect(try await eventually { clients.count { $0.isOpen } == 3 })
        }
    }

    @Test func anInstancesConnectionDoesNotGiveWayToStrangers() async throws {
        var limits = ConnectionLimits.slow()
        limits.perSource = 2
        try await ControlFixture.with(limits: limits) { fixture in
            let instance = try await fixture.connection(as: fixture.activated())
            let stranger = try await fixture.connection()
            for client in [instance, stranger] {
                client.send(Self.health)
                #expect(try await client.head().hasPrefix("HTTP/1.1 200"))
                _ = try await client.read(16)
            }
            var others: [TestConnection] = []
            for _ in 0..<4 {
                others.append(try await TestConnection.openPlain(port: UInt16(fixture.listeners.controlPort)))
            }
            #expect(try await eventually { !stranger.isOpen && others.count { $0.isOpen } == 2 })
            instance.send(Self.health)
            #expect(try await instance.head().hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test func anEventStreamOutlivesTheTimesOfRequests() async throws {
        // Time enough to send it.
        let limits = ConnectionLimits.slow(requestTime: .seconds(1))
        try await ControlFixture.with(limits: limits) { fixture in
            let client = try await fixture.connection(as: fixture.activated())
            client.send("GET \(ControlAPI.Path.events) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try await client.head().hasPrefix("HTTP/1.1 200"))
            // Heartbeats come every 2 s.
            _ = try await client.read(24)
            #expect(client.isOpen)
        }
    }

    @Test func connectionsAbortedByThePeerAreLoggedAtDebug() async throws {
        let log = LevelRecorder()
        var logger = Logger(label: "test") { _ in log }
        logger.logLevel = .debug
        try await ControlFixture.with(limits: .slow(requestTime: .seconds(1)), logger: logger) { fixture in
            let left = try await fixture.connection(as: fixture.activated())
            left.send("POST \(ControlAPI.Path.names) HTTP/1.1\r\nHost: localhost\r\n")
            left.send("Content-Type: \(ControlAPI.MediaType.query)\r\nContent-Length: 100\r\n\r\nx")
            let late = try await fixture.connection()
            late.send(Self.enrolment)
            #expect(try await eventually { log.lines.contains { $0.hasPrefix("debug A request did not come") } })
            left.drop()
            #expect(
                try await eventually {
                    log.lines.count { $0.hasPrefix("debug A request was ") } == 2
                })
            #expect(!log.lines.contains { $0.hasPrefix("notice A request") || $0.hasPrefix("error") })
        }
    }

    @Test(arguments: [
        ("Host: localhost\r\n", 200), ("", 400), ("Host: localhost\r\nHost: localhost\r\n", 400), ("Host: \r\n", 400),
        ("Host: a, b\r\n", 400),
    ])
    func aRequestHasExactlyOneHost(fields: String, status: Int) async throws {
        // The gateway waits just as long for the peer to end its side.
        try await ControlFixture.with(limits: .slow(requestTime: .seconds(1))) { fixture in
            let client = try await fixture.connection()
            client.send("GET \(ControlAPI.Path.health) HTTP/1.1\r\n\(fields)\r\n")
            #expect(try await client.head().hasPrefix("HTTP/1.1 \(status)"))
            guard status == 400 else { return }
            // A request after such a one is not answered: the gateway ends the connection.
            client.send(Self.health)
            #expect(!String(decoding: try await client.rest(), as: UTF8.self).contains("HTTP/1.1"))
            // The gateway does not wait for a peer that never ends its own side.
            #expect(try await eventually(within: .seconds(20)) { !client.isOpen })
        }
    }
}

/// Which peers count as authenticated: an instance by its certificate, as long as neither is withdrawn.
@Suite struct GoodStandingTests {
    @Test func onlyAnInstanceThatMayDoSomethingIsInGoodStanding() async throws {
        let fixture = try await DataFixture()
        let identity = try await fixture.identity()
        let name = try await fixture.data.presented(identity.certificates[0]).name.instance.description
        func standing() async -> String? {
            await fixture.data.currentState().client(presenting: identity.certificates[0])?.instanceInGoodStanding
        }
        #expect(await standing() == name)
        for (withdrawal, end) in [
            (AdministrationCommand.Withdrawal.block, AdministrationCommand.Withdrawal.unblock), (.lock, .unlock),
        ] {
            try await fixture.perform(.withdraw(instance: name, withdrawal))
            #expect(await standing() == nil)
            try await fixture.perform(.withdraw(instance: name, end))
            #expect(await standing() == name)
        }
        fixture.advance(8 * 86_400)
        #expect(await standing() == nil)
    }
}

/// Records messages with their level.
struct LevelRecorder: LogHandler {
    private let stored = LogRecorder()
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .debug
    var lines: [String] { stored.lines }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { stored.append("\(event.level) \(event.message)") }
}
