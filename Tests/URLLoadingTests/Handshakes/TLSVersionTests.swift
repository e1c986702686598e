import Configuration
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing

@testable import SallyportConnecting
@testable import SallyportURLLoading

/// The setting and its items (DESIGN §6, first row).
struct ControlTLSVersionsTests {
    private static let host = Host.address(.v4(0x0a00_0001))

    private func versions(_ values: [AbsoluteConfigKey: ConfigValue]) throws -> ControlTLSVersions {
        try ControlTLSVersions(reading: ConfigReader(provider: InMemoryProvider(values: values)))
    }

    @Test(arguments: [
        ("TLS1.1", [TLSVersion.tls11]), ("GDEnableTLS1.1", [.tls11]), ("TLS1.0", [.tls10, .tls11]),
        ("GDEnableTLS1.2", []), ("TLS1.2", []), ("GDEnableTLS1.1, GDEnableTLS1.2", [.tls11]),
    ])
    func aStringOrAnArrayAddsVersions(_ text: String, _ added: [TLSVersion]) throws {
        for name in ControlTLSVersions.names {
            let key = AbsoluteConfigKey([name])
            let items = text.split(separator: ",").map(String.init)
            for value in [ConfigValue(.string(text), isSecret: false), .init(.stringArray(items), isSecret: false)] {
                #expect(try versions([key: value]).versions(for: Self.host).allowed == Set(added), "\(name) \(text)")
            }
        }
    }

    @Test(arguments: [ConfigContent.int(5), .double(1.1), .bool(true), .intArray([1])])
    func aValueOfAnotherKindIsAnError(_ value: ConfigContent) {
        #expect(throws: LoadError(.invalidConfiguration, "")) {
            _ = try versions([AbsoluteConfigKey([ControlTLSVersions.names[0]]): ConfigValue(value, isSecret: false)])
        }
    }

    @Test func theEnvironmentIsAProvider() throws {
        let provider = EnvironmentVariablesProvider(environmentVariables: ["CONTROL_TLSVERSIONS": "TLS1.1"])
        let versions = try ControlTLSVersions(reading: ConfigReader(provider: provider))
        #expect(versions.versions(for: Self.host).allowed == [.tls11])
    }

    @Test func aHostIsGivenItsOwn() throws {
        let versions = try ControlTLSVersions(["Old.Example.=TLS1.0", "10.0.0.1=TLS1.1"])
        #expect(try versions.versions(for: Host("old.example")).allowed == [.tls10, .tls11])
        #expect(versions.versions(for: Self.host).allowed == [.tls11])
        #expect(try versions.versions(for: Host("new.example")).isEmpty)
    }

    @Test func ineffectiveItemsAreKept() throws {
        #expect(try ControlTLSVersions(["GDEnableTLS1.2", "TLS1.1"]).ineffective == ["GDEnableTLS1.2"])
    }

    @Test(arguments: ["SSLv3", "TLS1.3", "", "tls1.1", "GDEnableTLS1.0", "a b=TLS1.1", "=TLS1.1"])
    func anythingElseIsAnError(_ item: String) {
        #expect(throws: LoadError.self) { try ControlTLSVersions([item]) }
    }

    @Test func tooManyItemsAreAnError() {
        let items = [String](repeating: "TLS1.1", count: ControlTLSVersions.limit)
        #expect(throws: Never.self) { try ControlTLSVersions(items) }
        #expect(throws: LoadError.self) { try ControlTLSVersions(items + ["TLS1.1"]) }
    }
}

/// Which versions are offered to which server, and in which order.
struct TLSVersionRulesTests {
    private static let host = Host.address(.v4(0x0a00_0001))

    private func rules(
        _ items: [String] = [], _ minimum: TLSVersion? = nil, _ maximum: TLSVersion? = nil
    ) throws -> TLSVersionOffer {
        let control = try ControlTLSVersions(items)
        return TLSVersionOffer(control.allowed(for: Self.host, from: minimum, to: maximum))
    }

    @Test func byDefaultOnly12And13AreOffered() throws {
        let offer = try rules()
        #expect(offer.first == .standard && offer.fallback == nil)
    }

    @Test func addedVersionsAreOfferedLast() throws {
        let offer = try rules(["TLS1.0"])
        #expect(offer.first == .standard && offer.fallback?.allowed == [.tls10, .tls11])
        #expect(try rules(["TLS1.1"]).fallback?.allowed == [.tls11])
    }

    @Test func theSessionsBoundsHold() throws {
        #expect(try rules(["TLS1.0"], .tls11).fallback?.allowed == [.tls11])
        #expect(try rules(["TLS1.0"], .tls12).fallback == nil)
        #expect(try rules([], .tls13).first.allowed == [.tls13])
        #expect(try rules([], nil, .tls12).first.allowed == [.tls12])
        #expect(try rules([], .tls10).fallback?.allowed == [.tls10, .tls11])
        #expect(try rules(["TLS1.1"], nil, .tls11).first.allowed == [.tls11])
        #expect(try rules([], nil, .tls11).first.allowed.isEmpty)
    }
}

/// How the servers that were reached before decide which versions are offered, up to the limit of those that are noted.
struct TLSVersionHistoryTests {
    private let offer = TLSVersionOffer(.all)
    private let now = ContinuousClock.now

    private func server(_ number: Int) throws -> Endpoint { try Endpoint("server-\(number).example:443") }

    /// The history after so many servers were reached with higher versions.
    private func reached(_ count: Int) throws -> TLSVersionHistory {
        var history = TLSVersionHistory()
        for number in 0..<count { history.reached(try server(number), withLowerVersions: false, at: now) }
        return history
    }

    @Test func aServerThatSpokeHigherVersionsIsNotOfferedLowerOnesBeyondTheLimitEither() throws {
        let history = try reached(TLSVersionHistory.limit + 1)
        for number in [0, TLSVersionHistory.limit - 1, TLSVersionHistory.limit] {
            let step = history.step(offer, to: try server(number), at: now)
            #expect(step == TLSVersionStep(versions: offer.first), "server \(number)")
        }
    }

    @Test func anUnknownServerIsOfferedLowerVersionsOnlyBelowTheLimit() throws {
        var history = try reached(TLSVersionHistory.limit - 1)
        let unknown = try Endpoint("unknown.example:443")
        #expect(history.step(offer, to: unknown, at: now).next == offer.fallback)
        history.reached(try server(TLSVersionHistory.limit), withLowerVersions: false, at: now)
        #expect(history.step(offer, to: unknown, at: now).next == nil)
    }

    @Test func aServerThatLowerVersionsReachedIsOfferedThemBeyondTheLimitToo() throws {
        var history = try reached(TLSVersionHistory.limit)
        let old = try Endpoint("old.example:443")
        history.reached(old, withLowerVersions: true, at: now)
        #expect(history.step(offer, to: old, at: now).isFallback)
        let later = history.step(offer, to: old, at: now + TLSVersionHistory.legacyLifetime)
        #expect(later == TLSVersionStep(versions: offer.first, next: offer.fallback))
    }

    @Test func hostsOfTheSettingAreCountedApart() throws {
        var history = TLSVersionHistory(try ControlTLSVersions(["old.example=TLS1.1"]))
        for number in 0..<TLSVersionHistory.limit {
            history.reached(try server(number), withLowerVersions: false, at: now)
        }
        let old = try Endpoint("old.example:443")
        #expect(history.step(offer, to: old, at: now).next == offer.fallback)
        #expect(history.step(offer, to: try Endpoint("other.example:443"), at: now).next == nil)
        history.reached(old, withLowerVersions: false, at: now)
        #expect(history.step(offer, to: old, at: now) == TLSVersionStep(versions: offer.first))
    }

    /// An attacker could otherwise keep an app from its old server, by answering one connection that is not checked.
    @Test func aServerThatWasNotAuthenticatedIsStillOfferedLowerVersions() throws {
        var history = TLSVersionHistory()
        let endpoint = try server(0)
        history.note(AgreedVersion(.tls13, with: endpoint, isFallback: false, isAuthenticated: false), at: now)
        #expect(history.step(offer, to: endpoint, at: now).next == offer.fallback)
        history.note(AgreedVersion(.tls13, with: endpoint, isFallback: false, isAuthenticated: true), at: now)
        #expect(history.step(offer, to: endpoint, at: now).next == nil)
    }

    /// An attacker could otherwise have sessions that check the server offer it only lower versions.
    @Test func aServerThatWasNotAuthenticatedWithLowerVersionsIsStillOfferedHigherOnesFirst() throws {
        var history = TLSVersionHistory()
        let endpoint = try server(0)
        history.note(AgreedVersion(.tls11, with: endpoint, isFallback: true, isAuthenticated: false), at: now)
        let step = history.step(offer, to: endpoint, at: now)
        #expect(step == TLSVersionStep(versions: offer.first, next: offer.fallback))
    }

    @Test func lowerVersionsThatWereOfferedFirstSayNothingOfTheServer() throws {
        var history = TLSVersionHistory()
        let endpoint = try server(0)
        history.note(AgreedVersion(.tls11, with: endpoint, isFallback: false, isAuthenticated: true), at: now)
        #expect(!history.step(offer, to: endpoint, at: now).isFallback)
        history.note(AgreedVersion(.tls11, with: endpoint, isFallback: true, isAuthenticated: true), at: now)
        #expect(history.step(offer, to: endpoint, at: now).isFallback)
    }

    @Test func theOldestOfTooManyOldServersIsOfferedHigherVersionsFirstAgain() throws {
        var history = TLSVersionHistory()
        for number in 0...TLSVersionHistory.limit {
            history.reached(try server(number), withLowerVersions: true, at: now + .milliseconds(number))
        }
        let (oldest, next) = (try server(0), try server(1))
        #expect(!history.step(offer, to: oldest, at: now).isFallback)
        #expect(history.step(offer, to: next, at: now).isFallback)
    }
}

/// Lower versions on the wire.
@Suite(.timeLimit(.minutes(1)))
struct TLSFallbackTests {
    private let site: Site
    private let gate = StubGate()

    init() throws { site = try Site(TestAuthority()) }

    private func session(_ items: [String], minimum: TLSVersion? = nil) throws -> SecureSession {
        let loading = URLLoadingSystem(gate: gate, controlTLSVersions: try ControlTLSVersions(items))
        var configuration = SessionConfiguration()
        configuration.trust = try .only([site.authority.der])
        configuration.minimumTLSVersion = minimum
        return loading.makeSession(configuration)
    }

    @Test(arguments: [TLSVersion.tls10, .tls11])
    func anOldServerIsReachedWhereItsVersionWasAdded(_ version: TLSVersion) async throws {
        site.change { $0.version = version }
        let session = try session(["TLS1.0"])
        for _ in 0..<3 { #expect(await session.failure(try site.request()) == nil) }
        #expect(site.seen.handshakes == 2 && site.seen.heads.count == 3)
    }

    @Test func aStreamReachesAnOldServerAsALoadDoes() async throws {
        site.change { $0.version = .tls11 }
        let session = try session(["TLS1.1"])
        for _ in 0..<2 {
            let stream = try await session.streamTask(to: try site.server.endpoint, isSecure: true)
            stream.close()
        }
        await #expect(throws: LoadError.self) {
            _ = try await (try self.session([])).streamTask(to: try site.server.endpoint, isSecure: true)
        }
    }

    @Test func anOldServerIsNotReachedOtherwise() async throws {
        site.change { $0.version = .tls11 }
        #expect(await (try session([])).failure(try site.request())?.code == .noCommonTLSVersion)
        #expect(await (try session(["TLS1.1"], minimum: .tls12)).failure(try site.request()) != nil)
        #expect(await (try session(["other.example=TLS1.1"])).failure(try site.request()) != nil)
        #expect(site.seen.heads.isEmpty)
    }

    /// An attacker ends the first handshake; the server recognises the second one as a fallback (RFC 7507).
    @Test func aForcedFallbackIsFoundOut() async throws {
        let tls = try TestTLS(site.authority.server(addresses: [.v4(0x7f00_0001)]))
        let connections = Lock(0)
        let server = try TestServer { connection in
            let isFirst = connections.withLock { count in
                count += 1
                return count == 1
            }
            if isFirst { return }
            var old = tls
            old.minimumVersion = .tls11
            guard let client = old.accept(connection) else { return connection.awaitEnd() }
            client.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        let failure = await (try session(["TLS1.1"])).failure(LoadRequest(.get, try server.url(scheme: "https")))
        #expect(failure?.code == .tlsFailed, "\(String(describing: failure))")
        #expect(server.acceptedConnections == 2)
    }

    @Test func aHostThatSpokeAHigherVersionIsNeverOfferedLowerOnes() async throws {
        let session = try session(["TLS1.1"])
        #expect(await session.failure(try site.request()) == nil)
        site.change { $0.version = .tls11 }
        site.server.closeConnections()
        #expect(await session.failure(try site.request())?.code == .noCommonTLSVersion)
        #expect(site.seen.handshakes == 2)
    }

    /// Sessions of one instance: one without lower versions of TLS, and one whose minimum adds them.
    private func usualAndLower() throws -> (usual: SecureSession, lower: SecureSession) {
        let loading = URLLoadingSystem(gate: gate)
        var configuration = SessionConfiguration()
        configuration.trust = try .only([site.authority.der])
        let usual = loading.makeSession(configuration)
        configuration.minimumTLSVersion = .tls11
        return (usual, loading.makeSession(configuration))
    }

    @Test func aHostThatSpokeAHigherVersionInAnotherSessionIsNotOfferedLowerOnes() async throws {
        let (usual, lower) = try usualAndLower()
        #expect(await usual.failure(try site.request()) == nil)
        site.change { $0.version = .tls11 }
        #expect(await lower.failure(try site.request())?.code == .noCommonTLSVersion)
        #expect(site.seen.handshakes == 2)
    }

    @Test func aHostThatSpokeAHigherVersionInAStreamIsNotOfferedLowerOnes() async throws {
        let (usual, lower) = try usualAndLower()
        let stream = try await usual.streamTask(to: try site.server.endpoint, isSecure: true)
        stream.close()
        site.change { $0.version = .tls11 }
        #expect(await lower.failure(try site.request())?.code == .noCommonTLSVersion)
        #expect(site.seen.handshakes == 2)
    }

    /// An attacker could otherwise keep all sessions of an app from its old server, by answering one whose delegate
    /// trusts every server.
    @Test func aServerThatTheAppTrustsAgainstTheVerificationIsStillOfferedLowerVersions() async throws {
        let (loading, delegate) = (URLLoadingSystem(gate: gate), AskedDelegate(.trust(.forSession)))
        var configuration = SessionConfiguration()
        let trusting = loading.makeSession(configuration, delegate: delegate)
        #expect(await trusting.failure(try site.request()) == nil)
        #expect(delegate.evaluations.count == 1 && delegate.evaluations.first?.failure != nil)
        site.change { $0.version = .tls11 }
        configuration.trust = try .only([site.authority.der])
        configuration.minimumTLSVersion = .tls11
        #expect(await loading.makeSession(configuration).failure(try site.request()) == nil)
    }

    @Test func aServerThatIsNotTrustedIsNotTriedAgain() async throws {
        let loading = URLLoadingSystem(gate: gate, controlTLSVersions: try ControlTLSVersions(["TLS1.1"]))
        #expect(await loading.makeSession().failure(try site.request())?.code == .serverNotTrusted)
        #expect(site.seen.handshakes == 1)
    }

    @Test func whatTheServerWasOfferedIsTold() async throws {
        site.change { $0.version = .tls11 }
        let failure = await (try session([])).failure(try site.request())
        #expect(failure?.message == "The peer accepts none of the offered versions (TLS1.2, TLS1.3).")
    }

    @Test func aPolicyThatLeavesNoVersionIsNamed() async throws {
        let loading = URLLoadingSystem(gate: gate, client: StubClient([StubAnswer()]))
        var configuration = SessionConfiguration()
        configuration.maximumTLSVersion = .tls12
        gate.route(
            by: RoutingTable(default: .relay(cluster: "main")), relay: try RelayAccess.stub(), blocking: [.tls10],
            floor: .tls13)
        let failure = await loading.makeSession(configuration).failure(try .get("https://a.example/"))
        #expect(failure?.code == .noCommonTLSVersion && failure?.step == .routing)
        #expect(
            failure?.message == "Settings and policy leave no version of TLS to offer. The policy's lowest version is "
                + "TLS1.3. The policy blocks TLS1.0.")
    }

    /// A load fails while another one succeeds: the server speaks higher versions, and its handshake was only disturbed.
    @Test func lowerVersionsAreNotTriedOnceAnotherLoadHasReachedTheServerWithHigherOnes() async throws {
        let connector = Lock<Connector?>(nil)
        let endpoint = try Endpoint("a.example:443")
        let client = StubClient { _ throws(LoadError) in
            connector.withLock { $0 }?.versions.note(
                AgreedVersion(.tls12, with: endpoint, isFallback: false, isAuthenticated: true))
            throw LoadError(.connectionLost, at: .serverTLS, "It was reset.")
        }
        let only = Connector(gate: gate, client: client, control: try ControlTLSVersions(["TLS1.0"]))
        connector.withLock { $0 = only }
        let failure = await URLLoadingSystem(connector: only).session.failure(try .get("https://a.example/"))
        #expect(failure?.code == .connectionLost)
        #expect(client.exchanges.map(\.path.versions.allowed) == [[.tls12, .tls13]])
    }

    @Test func blocksAndFloorHoldOnRelayedConnections() async throws {
        let client = StubClient([StubAnswer()])
        let loading = URLLoadingSystem(
            gate: gate, controlTLSVersions: try ControlTLSVersions(["TLS1.0"]), client: client)
        gate.route(
            by: RoutingTable(default: .relay(cluster: "main")), relay: try RelayAccess.stub(),
            blocking: [.tls10, .tls13])
        _ = await loading.makeSession().failure(try .get("https://a.example/"))
        gate.route(by: RoutingTable(default: .relay(cluster: "main")), relay: try RelayAccess.stub(), floor: .tls13)
        _ = await loading.makeSession().failure(try .get("https://a.example/"))
        #expect(client.exchanges.map(\.path.versions.allowed) == [[.tls12], [.tls13]])
    }
}
