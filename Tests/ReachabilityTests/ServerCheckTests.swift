import SallyportBase
import SallyportConnecting
import SallyportCore
import SallyportTransport
import TestSupport
import Testing

@testable import SallyportReachability

/// The results for servers that answer, do not answer, are slow, or have a wrong certificate.
@Suite(.timeLimit(.minutes(1))) struct ServerCheckTests {
    private func check(
        _ endpoint: Endpoint, isSecure: Bool = false, validates: Bool = true, trust: TrustAnchors = .system,
        within limit: Duration = .seconds(10)
    ) async -> ServerReachability.Attempt? {
        let check = ServerCheck(
            endpoint: endpoint, isSecure: isSecure, validatesCertificate: validates, trust: trust, limit: limit)
        let decision = RoutingTable(default: .direct).decide(endpoint)
        let attempts = await check.run(by: ServerAccess(decision: decision, relay: nil))
        #expect(attempts.count == 1)
        return attempts.first
    }

    @Test func aServerThatAnswersIsReachedAndSentNothing() async throws {
        let bytes = Lock<Int?>(nil)
        let server = try TestServer { connection in
            let count = connection.read().count
            bytes.withLock { $0 = count }
        }
        let attempt = await check(try server.endpoint)
        #expect(attempt?.code == .noError && attempt?.failure == nil && attempt?.relay == nil)
        #expect(try await eventually { bytes.withLock { $0 } == 0 })
        server.stop()
        let gone = await check(try server.endpoint)
        #expect(gone?.code == .notReachable && gone?.failure?.code == .cannotConnect)
    }

    @Test func anAddressThatThePolicyDeniesIsNotReached() async throws {
        let server = try TestServer { _ = $0.read() }
        let endpoint = try Endpoint("localhost:\(server.port)")
        let networks = ["127.0.0.0/8", "::1/128"].compactMap { IPNetwork($0) }
        let decision = RoutingTable(denying: networks, default: .direct).decide(endpoint)
        let check = ServerCheck(endpoint: endpoint, isSecure: false, limit: .seconds(10))
        let attempts = await check.run(by: ServerAccess(decision: decision, relay: nil))
        #expect(attempts.map(\.failure?.code) == [.refusedByPolicy] && server.acceptedConnections == 0)
    }

    @Test func itsCertificateMustBeGoodUnlessItNeedNot() async throws {
        let authority = try TestAuthority()
        let tls = TestTLS(try authority.server(names: ["localhost"], addresses: [.v4(0x7f00_0001)]))
        let server = try TestServer { connection in _ = tls.accept(connection)?.read() }
        defer { server.stop() }
        let endpoint = try server.endpoint
        #expect(await check(endpoint, isSecure: true)?.code == .notTrusted)
        #expect(await check(endpoint, isSecure: true, validates: false)?.code == .noError)
        let trust = TrustAnchors.systemAnd([try authority.der])
        #expect(await check(endpoint, isSecure: true, trust: trust)?.code == .noError)
    }

    @Test func aServerThatSaysNothingIsOutOfTime() async throws {
        let server = try TestServer { $0.awaitEnd() }
        defer { server.stop() }
        let start = ContinuousClock.now
        let attempt = await check(try server.endpoint, isSecure: true, within: .milliseconds(500))
        #expect(attempt?.code == .timedOut && attempt?.failure != nil)
        #expect(start.duration(to: .now) < .seconds(10))
    }

    @Test func cancellingEndsIt() async throws {
        let server = try TestServer { $0.awaitEnd() }
        defer { server.stop() }
        let endpoint = try server.endpoint
        let task = Task { await check(endpoint, isSecure: true, within: .seconds(60)) }
        #expect(try await eventually { server.acceptedConnections > 0 })
        task.cancel()
        #expect(await task.value?.code == .cancelled)
    }

    /// A route to a cluster without relays must not become a direct one.
    @Test func aClusterWithoutRelaysLeadsNowhere() async throws {
        let server = try TestServer { _ = $0.read() }
        defer { server.stop() }
        let access = ServerAccess(
            decision: RoutingTable(servers: [.init(try server.endpoint, route: .relay)]).decide(try server.endpoint),
            relay: nil)
        let connector = Connector(gate: OneServer(access: access))
        let check = ServerCheck(endpoint: try server.endpoint, isSecure: false, limit: .seconds(10))
        let found = await check.run(through: connector)
        await connector.shutdown()
        #expect(found.code == .notReachable && found.attempts.isEmpty && server.acceptedConnections == 0)
    }

    /// Each relay by itself: the one that leads there, the one that is not there.
    @Test func eachRelayIsAWayOfItsOwn() async throws {
        let (authority, decoy) = (try TestAuthority(), try TestAuthority())
        let relayTLS = TestTLS(
            try authority.server(names: ["localhost"], addresses: [.v4(0x7f00_0001)]), requiring: authority)
        let relay = try TestServer { TestRelay.serve($0, relayTLS) }
        let server = try TestServer { $0.awaitEnd() }
        defer {
            relay.stop()
            server.stop()
        }
        let identity = try authority.client().clientIdentity
        let there = try relay.endpoint
        let missing = try Endpoint("127.0.0.1:\(LoopbackPort.free())")
        func access(_ authority: TestAuthority) throws -> ServerAccess {
            let cluster = RelayAccess(
                cluster: "main",
                relays: [.init(missing, priority: 2), .init(there, priority: 1)],
                authorities: [try authority.der], identity: identity)
            return ServerAccess(
                decision: RoutingTable(servers: [.init(try server.endpoint, route: .relay)]).decide(
                    try server.endpoint), relay: cluster)
        }
        let check = ServerCheck(endpoint: try server.endpoint, isSecure: false, limit: .seconds(10))
        let attempts = await check.run(by: try access(authority))
        #expect(attempts.map(\.relay) == [there, missing])
        #expect(attempts.map(\.code) == [.noError, .notReachable])
        let whole = ServerReachability(try server.endpoint, by: nil, attempts, else: .notReachable)
        #expect(whole.code == .noError)
        // Another relay in its place.
        #expect(await check.run(by: try access(decoy)).map(\.code) == [.notTrusted, .notReachable])
    }
}

extension ServerCheck {
    /// The attempts under a policy that contains only one server.
    fileprivate func run(by access: ServerAccess) async -> [ServerReachability.Attempt] {
        let connector = Connector(gate: OneServer(access: access))
        let found = await run(through: connector)
        await connector.shutdown()
        return found.attempts
    }
}

private struct OneServer: AccessGate {
    let access: ServerAccess

    func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess { access }
    func checkAuthorized() throws(AccessDenied) {}
    func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
        AccessObservation()
    }
}
