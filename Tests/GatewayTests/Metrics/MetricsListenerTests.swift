import HTTPTypes
import Logging
import NIOCore
import SallyportCore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// The listener for metrics and health of a running gateway.
@Suite(.timeLimit(.minutes(2))) struct MetricsListenerTests {
    @Test func aScrapeIsWhatPromtoolExpects() async throws {
        try await ControlFixture.with { fixture in
            let answer = try await fixture.observe("/metrics")
            #expect(answer.fields[.contentType] == "text/plain; version=0.0.4; charset=utf-8")
            let scrape = try await fixture.scrape()
            #expect(try await scrape.complaints().isEmpty)
            for metric in MetricDescription.all {
                #expect(scrape.text.contains("# HELP \(metric.name) \(metric.help)\n# TYPE \(metric.name) "))
            }
        }
    }

    @Test func otherMethodsAndPathsAreRefused() async throws {
        try await ControlFixture.with { fixture in
            #expect(try await eventually { try await fixture.observe("/health/ready").status == 200 })
            for path in ["/metrics", "/health/live", "/health/ready"] {
                let head = try await fixture.observe(path, .head)
                #expect(head.status == 200 && head.body.isEmpty)
                for method in [HTTPRequest.Method.post, .put, .delete, .options] {
                    let refused = try await fixture.observe(path, method)
                    #expect(refused.status == 405 && refused.fields[.allow] == "GET, HEAD")
                }
            }
            for path in ["/", "/metrics/", "/health", "/v1/configuration", "/metrics%00"] {
                #expect(try await fixture.observe(path).status == 404)
            }
        }
    }

    @Test(arguments: ["", "Host: a\r\nHost: b\r\n"])
    func aRequestHasOneHost(_ hosts: String) async throws {
        try await ControlFixture.with { fixture in
            let client = try await TestConnection.openPlain(port: fixture.metricsPort)
            client.send("GET /metrics HTTP/1.1\r\n\(hosts)\r\n")
            #expect(try await client.head().hasPrefix("HTTP/1.1 400"))
            client.close()
        }
    }

    @Test(arguments: [("0.0.0.0", false), ("0.0.0.0", true), ("::1", false), ("localhost", false)])
    func otherMachinesReachItOnlyWithConsent(_ host: String, _ isAllowed: Bool) async throws {
        var configuration = Gateway.Configuration.loopback
        configuration.metrics = .init(host: host, port: 0, isInsecureAllowed: isAllowed)
        try await GatewayTests.GatewayFolder.with { folder in
            let gateway = try await folder.gateway(configuration)
            let running = Task { try await gateway.run() }
            if host == "0.0.0.0", !isAllowed {
                await #expect(throws: GatewayError(.invalid, "")) { try await gateway.listeners() }
                await #expect(throws: GatewayError(.invalid, "")) { try await running.value }
            } else {
                let port = try await gateway.listeners().metricsPort
                #expect(try #require(port) > 0)
                await gateway.shutdown()
                try await running.value
            }
        }
    }

    @Test func withoutOneNothingIsToldAndTheStoreIsNotProbed() async throws {
        try await GatewayTests.GatewayFolder.with { folder in
            try await folder.running { _, listeners in #expect(listeners.metricsPort == nil) }
        }
    }

    @Test func oneMoreConnectionThanItTakesReplacesTheOldest() async throws {
        try await ControlFixture.with { fixture in
            var clients: [TestConnection] = []
            for _ in 0...Observation.connections {
                clients.append(try await TestConnection.openPlain(port: fixture.metricsPort))
            }
            // Two loops may take connections in another order than that of the connects.
            let hasOneLess = try await eventually { clients.count { $0.isOpen } == Observation.connections }
            #expect(hasOneLess)
            for client in clients { client.close() }
            let labels = "listener=\"metrics\",reason=\"gave-way\""
            let isCounted = try await eventually {
                let count = try await fixture.scrape()["connections_refused_total", labels]
                return (count ?? 0) >= 1
            }
            #expect(isCounted)
        }
    }

    /// Such clients are counted apart, and do not give way to others.
    @Test func aFloodAtTheControlPortDoesNotKeepMetricsFromAnyone() async throws {
        var limits = ConnectionLimits.slow()
        limits.perSource = 2
        try await ControlFixture.with(limits: limits) { fixture in
            var flood: [TestConnection] = []
            for _ in 0..<8 { flood.append(try await TestConnection.openPlain(port: UInt16(fixture.port))) }
            #expect(try await fixture.scrape()["health", "part=\"control\""] != nil)
            for client in flood { client.close() }
        }
    }

    /// Asks often, on a connection that it never reads: the first answer ends the connection, and the gateway waits a
    /// few seconds for the client's end.
    @Test func aClientThatNeverReadsIsGoneAfterAWhile() async throws {
        try await ControlFixture.with { fixture in
            var clients: [TestConnection] = []
            for _ in 0..<8 {
                let client = try await TestConnection.openPlain(port: fixture.metricsPort)
                try await client.pauseReading()
                client.send(String(repeating: "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", count: 1000))
                clients.append(client)
            }
            // The one that is left is that of the scrape.
            #expect(
                try await eventually(within: .seconds(30)) {
                    try await fixture.scrape()["connections", "listener=\"metrics\""] == 1
                })
            for client in clients { client.close() }
        }
    }

    @Test func aClientThatNeverAsksIsGoneAfterAWhile() async throws {
        try await ControlFixture.with { fixture in
            let client = try await TestConnection.openPlain(port: fixture.metricsPort)
            client.send("GET /metrics HT")
            #expect(try await eventually(within: .seconds(30)) { !client.isOpen })
        }
    }
}
