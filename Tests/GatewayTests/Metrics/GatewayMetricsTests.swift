import Foundation
import HTTPTypes
import HashTreeCollections
import SallyportCore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// What a running gateway counts.
@Suite(.timeLimit(.minutes(2))) struct GatewayMetricsTests {
    /// Whether a sample comes to a value: the text of a scrape is given again for half a second.
    private static func expect(
        _ fixture: ControlFixture, _ name: String, _ labels: String = "", is value: Double,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let isSo = try await eventually { try await fixture.scrape()[name, labels] == value }
        let last = try await fixture.scrape()[name, labels]
        #expect(isSo, "\(name) \(labels): \(last.map { "\($0)" } ?? "-")", sourceLocation: sourceLocation)
    }

    @Test func requestsAreCountedByOperationAndResult() async throws {
        try await ControlFixture.with { fixture in
            #expect(try await fixture.enroll(fixture.data.link()).status == 200)
            #expect(try await fixture.enroll(user: "ann", key: "wrong").status == 401)
            #expect(try await fixture.enroll(user: "ann", key: "wrong").status == 429)
            let identity = try await fixture.activated()
            #expect(try await fixture.get(ControlAPI.Path.configuration, as: identity).status == 200)
            #expect(try await fixture.get(ControlAPI.Path.configuration).status == 401)
            #expect(try await fixture.renew(as: identity).status == 200)
            #expect(try await fixture.get("/nothing/here").status == 404)
            for (operation, result) in [
                ("activation", "done"), ("activation", "unauthorized"), ("activation", "limited"),
                ("configuration", "done"), ("configuration", "unauthorized"), ("renewal", "done"), ("other", "invalid"),
            ] {
                try await Self.expect(
                    fixture, "requests_total", "operation=\"\(operation)\",result=\"\(result)\"", is: 1)
            }
        }
    }

    @Test func verdictsOnTokensAreCounted() async throws {
        try await ControlFixture.with { fixture in
            let fields: HTTPFields = [try #require(.init(AuthTokenAPI.Field.token)): "nothing"]
            #expect(try await fixture.getPlainly(AuthTokenAPI.Path.verify, fields: fields).status == 200)
            try await Self.expect(fixture, "token_verifications_total", "verdict=\"malformed\"", is: 1)
            try await Self.expect(fixture, "connections_accepted_total", "listener=\"verification\"", is: 1)
        }
    }

    @Test func aTunnelIsCountedFromItsConnectToItsEnd() async throws {
        let server = try TestServer { connection in
            while case let bytes = connection.read(), !bytes.isEmpty { connection.write(bytes + bytes) }
        }
        try await ControlFixture.with { fixture in
            let identity = try await fixture.activated()
            let before = try #require(try await fixture.scrape()["policy_change_seconds_count"])
            try await fixture.data.perform(
                .addServer(.init(endpoint: "127.0.0.1:\(server.port)", route: "relay")))
            let (tunnel, status) = try await fixture.connect(to: server.port, as: identity)
            #expect(status == 200)
            tunnel.send("0123456789")
            _ = try await tunnel.read(20)
            // While the tunnel is open: the bytes are not only counted at its end.
            try await Self.expect(fixture, "relayed_bytes_total", "direction=\"up\"", is: 10)
            try await Self.expect(fixture, "relayed_bytes_total", "direction=\"down\"", is: 20)
            try await Self.expect(fixture, "tunnels", is: 1)
            try await Self.expect(fixture, "connects_total", "verdict=\"opened\"", is: 1)
            try await Self.expect(fixture, "dial_seconds_count", "outcome=\"connected\"", is: 1)
            tunnel.send("x")
            _ = try await tunnel.read(2)
            let instance = try #require(await fixture.data.data.instances.keys.first)
            try await fixture.data.perform(.withdraw(instance: "\(instance)", .block))
            try await Self.expect(fixture, "tunnels_ended_total", "reason=\"withdrawn\"", is: 1)
            try await Self.expect(fixture, "tunnels", is: 0)
            // Nothing is counted twice, or forgotten, at the end.
            try await Self.expect(fixture, "relayed_bytes_total", "direction=\"up\"", is: 11)
            try await Self.expect(fixture, "relayed_bytes_total", "direction=\"down\"", is: 22)
            try await Self.expect(fixture, "instances", "status=\"blocked\"", is: 1)
            #expect(try #require(try await fixture.scrape()["policy_change_seconds_count"]) >= before + 2)
        }
        server.stop()
    }

    @Test func refusalsAtTheRelayAreCountedByTheirKind() async throws {
        try await ControlFixture.with { fixture in
            let identity = try await fixture.activated()
            #expect(try await fixture.connect(to: 9, as: identity).status == 403)
            try await Self.expect(fixture, "connects_total", "verdict=\"http_request_denied\"", is: 1)
            let port = LoopbackPort.free()
            try await fixture.data.perform(.addServer(.init(endpoint: "127.0.0.1:\(port)", route: "relay")))
            #expect(try await fixture.connect(to: port, as: identity).status == 502)
            try await Self.expect(fixture, "connects_total", "verdict=\"connection_refused\"", is: 1)
            try await Self.expect(fixture, "dial_seconds_count", "outcome=\"failed\"", is: 1)
            try await Self.expect(fixture, "tunnels", is: 0)
        }
    }

    @Test(arguments: ["control", "relay"]) func failedHandshakesAreCounted(_ listener: String) async throws {
        // Time enough for the two clients that are not late.
        let limits = ConnectionLimits.slow(handshakeTime: .seconds(3))
        try await ControlFixture.with(limits: limits) { fixture in
            let port = listener == "control" ? UInt16(fixture.port) : fixture.relayPort
            let garbage = try await TestConnection.openPlain(port: port)
            garbage.send("GET / HTTP/1.1\r\n\r\n")
            let left = try await TestConnection.openPlain(port: port)
            left.drop()
            let silent = try await TestConnection.openPlain(port: port)
            for reason in ["failed", "late", "left"] {
                try await Self.expect(
                    fixture, "handshake_failures_total", "listener=\"\(listener)\",reason=\"\(reason)\"", is: 1)
            }
            silent.close()
        }
    }

    @Test func eventStreamsAreCountedWhileTheyAreOpen() async throws {
        try await ControlFixture.with { fixture in
            let stream = try await fixture.connection(as: fixture.activated())
            stream.send("GET \(ControlAPI.Path.events) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try await stream.head().hasPrefix("HTTP/1.1 200"))
            try await Self.expect(fixture, "event_streams", is: 1)
            stream.drop()
            try await Self.expect(fixture, "event_streams", is: 0)
        }
    }

    @Test func whatIsStoredIsTold() async throws {
        try await ControlFixture.with { fixture in
            let data = fixture.data.data
            let server = try #require(CertificateAuthority.end(ofDER: await data.server.certificate))
            let scrape = try await fixture.scrape()
            #expect(
                scrape["certificate_expiry_timestamp_seconds", "certificate=\"server\""]
                    == server.timeIntervalSince1970)
            #expect(try #require(scrape["store_size_bytes"]) >= #require(scrape["store_used_bytes"]))
            #expect(try #require(scrape["disk_free_bytes"]) > 0)
            let start = try #require(scrape.values["process_start_time_seconds"])
            #expect(abs(start - Date().timeIntervalSince1970) < 24 * 3600 && start <= Date().timeIntervalSince1970 + 1)
            #expect(try #require(scrape.values["process_resident_memory_bytes"]) > 1_000_000)
            #expect(try #require(scrape.values["process_cpu_seconds_total"]) > 0)
            #expect(try #require(scrape.values["process_open_fds"]) > 3)
        }
    }

    /// A reader of the metrics learns of no instance, user, application or server.
    @Test func noMetricNamesAnInstanceAUserOrAHost() async throws {
        let server = try TestServer { $0.awaitEnd() }
        try await ControlFixture.with { fixture in
            let identity = try await fixture.activated()
            try await fixture.data.perform(
                .addServer(.init(endpoint: "127.0.0.1:\(server.port)", route: "relay")))
            #expect(try await fixture.connect(to: server.port, as: identity).status == 200)
            #expect(try await fixture.get("/planted-path/x?planted=query", as: identity).status == 404)
            #expect(try await fixture.document(as: identity).status == .active)
            let text = try await fixture.scrape().text
            let instance = try #require(await fixture.data.data.instances.keys.first)
            let names = ["\(instance)", "\"ann", "com.example", "127.0.0.1", "localhost", "planted", "\(server.port)"]
            for name in names { #expect(!text.contains(name)) }
        }
        server.stop()
    }
}
