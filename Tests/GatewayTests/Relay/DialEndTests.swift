import TestSupport
import Testing

@testable import SallyportGateway

/// What becomes of a connection to a server that is still being opened when no tunnel may use it any more.
@Suite(.timeLimit(.minutes(1))) struct DialEndTests {
    /// A server that no SYN reaches, since the kernel's queue of its connections is full.
    private struct BlackHole {
        private let listener: DeafListener
        private let filler: GuardedClient
        var port: UInt16 { listener.port }

        init() throws {
            listener = try DeafListener(queue: 0)
            filler = try GuardedClient(listener.port)
        }

        /// How many connections to it are being opened: SYN_SENT in proc(5).
        var dials: Int {
            let place = ":" + String(port, radix: 16, uppercase: true)
            let lines = KernelFile.text("/proc/net/tcp")?.split(separator: "\n") ?? []
            return lines.count { line in
                let fields = line.split(separator: " ")
                return fields.count > 3 && fields[2].hasSuffix(place) && fields[3] == "02"
            }
        }
    }

    /// A client whose server is being dialled: 5 s for each address, or 10 s for a single one.
    private static func dialling(
        _ hole: BlackHole, at addresses: [String], by fixture: RelayFixture
    ) async throws -> TestConnection {
        fixture.resolver.set(addresses)
        let client = try await fixture.connect()
        client.send("CONNECT a.example:\(hole.port) HTTP/1.1\r\nHost: a\r\n\r\n")
        try #require(try await eventually { hole.dials == 1 })
        return client
    }

    @Test(arguments: [["127.0.0.1"], ["127.0.0.1", "127.0.0.1"]])
    func aClientThatLeavesTakesTheDialAlong(addresses: [String]) async throws {
        let hole = try BlackHole()
        try await RelayFixture.with { fixture in
            let client = try await Self.dialling(hole, at: addresses, by: fixture)
            #expect(fixture.relay.tunnelCount == 1)
            client.drop()
            // Both at once: between two addresses nothing is dialled either.
            #expect(try await eventually(within: Soak.second) { hole.dials == 0 && fixture.relay.tunnelCount == 0 })
        }
    }

    @Test func aNameNeedsNoLookUpForAClientThatHasLeft() async throws {
        let silent = StubResolver(nil)
        try await RelayFixture.with(resolver: silent) { fixture in
            let client = try await fixture.connect()
            client.send("CONNECT a.example:443 HTTP/1.1\r\nHost: a\r\n\r\n")
            try #require(try await eventually { silent.isWanted == true })
            client.drop()
            #expect(try await eventually { silent.isWanted == false })
        }
    }

    @Test(arguments: [["127.0.0.1"], ["127.0.0.1", "127.0.0.1"]])
    func aWithdrawalEndsTheDialAndIsTheAnswer(addresses: [String]) async throws {
        let hole = try BlackHole()
        try await RelayFixture.with { fixture in
            let client = try await Self.dialling(hole, at: addresses, by: fixture)
            fixture.policy.set(StubPolicy.denied)
            let start = ContinuousClock.now
            fixture.relay.policyChanged()
            let answer = try await client.head()
            #expect(answer.hasPrefix("HTTP/1.1 403") && answer.contains("The policy changed."))
            #expect(ContinuousClock.now - start < Soak.second)
            #expect(try await eventually { hole.dials == 0 && fixture.relay.tunnelCount == 0 })
        }
    }

    @Test func aRelayThatShutsDownEndsTheDial() async throws {
        let hole = try BlackHole()
        try await RelayFixture.with { fixture in
            _ = try await Self.dialling(hole, at: ["127.0.0.1", "127.0.0.1"], by: fixture)
            await fixture.relay.shutdown()
            #expect(hole.dials == 0)
        }
    }
}
