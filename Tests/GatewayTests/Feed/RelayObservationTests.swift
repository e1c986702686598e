import Foundation
import HTTPTypes
import Logging
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportSecureStore
import SallyportTransport
import TestSupport
import Testing

@testable import SallyportGateway

/// What a relay on a machine of its own tells of itself.
@Suite(.timeLimit(.minutes(2))) struct RelayObservationTests {
    /// A relay that follows a gateway, and what it tells at a path.
    private struct Observed: Sendable {
        let port: Int
        let transport = Transport()

        func get(_ path: String) async throws -> (status: Int, text: String) {
            let url = try RequestURL("http://127.0.0.1:\(port)\(path)")
            let response = try await transport.exchange(.init(.get, url), via: ConnectionPath())
            let body = try await response.body.collect(upTo: .mebibytes(1))
            return (response.head.status.code, String(decoding: body, as: UTF8.self))
        }

        func scrape() async throws -> Scrape { try Scrape(try await get("/metrics").text) }
    }

    private static func with(
        _ body: @Sendable (Observed, RunningRelay, ControlFixture) async throws -> Void
    ) async throws {
        try await ControlFixture.with(DataFixture(standsStill: false)) { control in
            let enrolled = try await EnrolledRelay.enrolled(at: control.data.data)
            try await enrolled.run(metrics: .init(host: "localhost", port: 0)) { relay in
                let observed = Observed(port: try #require(relay.metricsPort))
                try await body(observed, relay, control)
                await observed.transport.shutdown()
            }
        }
    }

    @Test func itsMetricsAreThoseOfARelay() async throws {
        let origin = try await TestOrigin(echoes: true)
        try await Self.with { observed, relay, control in
            let place = "127.0.0.1:\(origin.port)"
            try await control.data.perform(.addServer(.init(endpoint: place)))
            let identity = try await control.activated()
            let tunnel = try await relay.tunnel(to: origin.port, as: identity)
            tunnel.send("hello")
            #expect(try await tunnel.read(5) == Array("hello".utf8))
            let isCounted = try await eventually {
                try await observed.scrape()["relayed_bytes_total", "direction=\"down\""] == 5
            }
            let scrape = try await observed.scrape()
            #expect(isCounted && scrape["tunnels"] == 1 && scrape["connects_total", "verdict=\"opened\""] == 1)
            #expect(scrape["connections", "listener=\"relay\""] ?? 0 >= 1)
            #expect(scrape["certificate_expiry_timestamp_seconds", "certificate=\"feed\""] ?? 0 > 1.7e9)
            #expect(scrape["certificate_expiry_timestamp_seconds", "certificate=\"server\""] ?? 0 > 1.7e9)
            #expect(scrape.values["sallyport_relay_feed_gateways"] == 1)
            #expect(scrape.values["sallyport_relay_feed_revision"] ?? 0 > 0)
            #expect((290...300).contains(scrape.values["sallyport_relay_lease_seconds"] ?? 0))
            #expect(try await scrape.complaints().isEmpty)
            let told = scrape.text.matches(of: #/(?m)^# TYPE (\S+) /#).map { String($0.output.1) }
            #expect(told == MetricDescription.relay.map(\.name).sorted())
            #expect(!scrape.text.contains(relay.port.description) && !scrape.text.contains("localhost"))
        }
        try await origin.close()
    }

    @Test func itIsNotReadyWithoutWordAndStillAlive() async throws {
        try await Self.with { observed, _, control in
            let isReady = try await eventually { try await observed.get("/health/ready").status == 200 }
            let told = try await observed.get("/health/ready").text
            #expect(isReady && told.contains("\"feed\":{\"status\":\"ok\"},\"relay\":{\"status\":\"ok\"}"), "\(told)")
            try await control.data.perform(.removeRelay(name: EnrolledRelay.standardName))
            let isNotReady = try await eventually { try await observed.get("/health/ready").status == 503 }
            let reason = try await observed.get("/health/ready").text
            #expect(isNotReady && reason.contains("There is no word from the control gateways."), "\(reason)")
            #expect(try await observed.get("/health/live").status == 200)
            let isTold = try await eventually {
                let scrape = try await observed.scrape()
                return scrape["health", "part=\"feed\""] == 0 && scrape["health", "part=\"relay\""] == 1
                    && scrape.values["sallyport_relay_lease_seconds"] == 0
            }
            #expect(isTold)
        }
    }

    @Test func aGuardTellsItsOwn() async throws {
        try await ControlFixture.with(DataFixture(standsStill: false)) { control in
            let enrolled = try await EnrolledRelay.enrolled(at: control.data.data)
            var configuration = Gateway.Configuration.loopback
            configuration.role = .guarding
            configuration.relayGuard = .init(path: "\(enrolled.path)/guard.sock", port: nil)
            configuration.metrics = .init(host: "localhost", port: 0)
            let gateway = try await Gateway(
                at: enrolled.path, protectedBy: .keyFile("\(enrolled.path)/key"), configuration: configuration,
                logger: Logger(label: "guard") { _ in SwiftLogNoOpLogHandler() })
            let running = Task { try await gateway.run() }
            let observed = Observed(port: try #require(try await gateway.listeners().metricsPort))
            let isReady = try await eventually { try await observed.get("/health/ready").status == 200 }
            let told = try await observed.get("/health/ready").text
            #expect(isReady && told.contains(#""guard":{"status":"ok"}"#), "\(told)")
            let scrape = try await observed.scrape()
            #expect(scrape.values["sallyport_relay_feed_gateways"] == 1 && scrape["tunnels"] == 0)
            let names = scrape.text.matches(of: #/(?m)^# TYPE (\S+) /#).map { String($0.output.1) }
            #expect(names == MetricDescription.guarding.map(\.name).sorted())
            await observed.transport.shutdown()
            await gateway.shutdown()
            try await running.value
        }
    }

    @Test func metricsThatOtherMachinesCanReadAreRefused() async throws {
        let data = try await DataFixture(standsStill: false)
        let enrolled = try await EnrolledRelay.enrolled(at: data.data)
        let error = await #expect(throws: GatewayError.self) {
            try await enrolled.run(metrics: .init(host: "0.0.0.0", port: 0)) { _ in }
        }
        #expect(error?.code == .invalid && error?.message.contains("--metrics-insecure") == true)
    }

    @Test func aPortThatIsTakenIsNamed() async throws {
        let data = try await DataFixture(standsStill: false)
        let enrolled = try await EnrolledRelay.enrolled(at: data.data)
        let taken = try TestServer { $0.awaitEnd() }
        let error = await #expect(throws: GatewayError.self) {
            try await enrolled.run(metrics: .init(host: "127.0.0.1", port: Int(taken.port))) { _ in }
        }
        #expect(error?.code == .cannotBind && error?.message.contains("\(taken.port)") == true)
    }
}
