import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportSocket

/// TLS with the server, and what the policy says.
@Suite(.timeLimit(.minutes(1)))
struct SocketSecurityTests {
    private let world: World
    private let app: SocketApp

    init() throws {
        world = try World()
        app = try SocketApp(in: world)
    }

    private func failure(
        _ server: TestServer, _ change: (inout SocketConfiguration) throws -> Void = { _ in }
    ) async throws -> LoadError? {
        let configuration = try app.configuration(change)
        let endpoint = try server.endpoint
        do throws(LoadError) {
            let connection = try await app.sockets.connect(to: endpoint, isSecure: true, configuration)
            _ = try await connection.read()
            return nil
        } catch { return error }
    }

    private func reason(_ error: LoadError?) -> ServerTrustEvaluation.Failure.Reason? {
        (error?.underlying as? ServerTrustEvaluation)?.failure?.reason
    }

    // MARK: Verification

    @Test(arguments: [false, true])
    func aCertificateForAnotherHostIsRefusedUnlessTheAppSaysSo(_ isRelayed: Bool) async throws {
        let tls = try TestTLS(world.origin.server(names: ["other.example"]))
        let server = try TestServer { if let client = tls.accept($0) { client.write("x"); _ = client.read() } }
        let relay = isRelayed ? try world.relayed() : nil
        let error = try await failure(server)
        #expect(error.map { SocketError($0).number } == 1)
        #expect(error?.code == .serverNotTrusted && reason(error) == .wrongHost)
        #expect(try await failure(server) { $0.disabled = [.host] } == nil)
        #expect(try await failure(server) != nil, "what one socket does not check, the next does")
        _ = relay
    }

    @Test func withoutTheHostsCheckTheAuthorityIsStillChecked() async throws {
        let tls = try TestTLS(TestAuthority(name: "Other").server(names: ["other.example"]))
        let server = try TestServer { if let client = tls.accept($0) { client.write("x"); _ = client.read() } }
        let error = try await failure(server) { $0.disabled = [.host] }
        #expect(error?.code == .serverNotTrusted)
        #expect(try await failure(server) { $0.disabled = [.host, .peer] } == nil)
    }

    /// The chain that an app trusts for good, at each server.
    private struct TrustedChain: DecisionStore {
        let chain: ChainFingerprint

        func trustedChain(at endpoint: Endpoint) async -> ChainFingerprint? { chain }
        func trust(_ chain: ChainFingerprint, at endpoint: Endpoint) async throws(LoadError) {}
        func forgetTrust(at endpoint: Endpoint) async throws(LoadError) -> Bool { false }
    }

    @Test func aChainThatTheAppTrustsForGoodIsTaken() async throws {
        let authority = try TestAuthority(name: "Other")
        let tls = try TestTLS(authority.server(names: ["localhost"], addresses: [.v4(0x7f00_0001)]))
        let server = try TestServer { if let client = tls.accept($0) { client.write("x"); _ = client.read() } }
        let error = try await failure(server)
        #expect(error?.code == .serverNotTrusted)
        let chain = try #require((error?.underlying as? ServerTrustEvaluation)?.fingerprint)
        let sockets = SocketSystem(gate: world.gate, decisions: TrustedChain(chain: chain))
        let connection = try await sockets.connect(to: server.endpoint, isSecure: true, app.configuration())
        #expect(try await connection.read() == Array("x".utf8))
        await sockets.shutdown()
    }

    @Test func aPinnedServerNeedsItsKey() async throws {
        let identity = try world.origin.server(names: ["localhost"], addresses: [.v4(0x7f00_0001)])
        let tls = TestTLS(identity)
        let server = try TestServer { if let client = tls.accept($0) { client.write("x"); _ = client.read() } }
        let (good, other) = (PublicKeyPin(sha256: world.origin.publicKeySHA256)!, PublicKeyPin(sha256: Array(0..<32))!)
        #expect(try await failure(server) { try $0.pin(to: good, backups: [other]) } == nil)
        let error = try await failure(server) {
            try $0.pin(to: other, backups: [PublicKeyPin(sha256: Array(1..<33))!])
        }
        #expect(error?.code == .serverNotTrusted)
        var configuration = SocketConfiguration()
        #expect(throws: LoadError(.invalidRequest, "")) { try configuration.pin(to: good, backups: [good]) }
    }

    @Test(arguments: [false, true])
    func bytesThatAreNotATLSRecordAreAnError(_ isRelayed: Bool) async throws {
        let tls = world.originTLS
        let server = try TestServer { connection in
            guard let client = tls.accept(connection) else { return }
            client.write("good")
            connection.write([0x17, 0x03, 0x03, 0, 20] + Array(0..<20))
            connection.awaitEnd()
        }
        let relay = isRelayed ? try world.relayed() : nil
        let connection = try await app.open(server, isSecure: true)
        #expect(try await connection.read() == Array("good".utf8))
        let error = await #expect(throws: LoadError.self) { try await connection.read() }
        #expect(error.map { SocketError($0).code } == .networkUnavailable)
        #expect(try await eventually { server.openConnections == 0 })
        _ = relay
    }

    // MARK: What the two agree on

    @Test(arguments: [false, true])
    func thePeerIsDescribed(_ isRelayed: Bool) async throws {
        let tls = world.originTLS
        let server = try TestServer { if let client = tls.accept($0) { client.write("x"); _ = client.read() } }
        let relay = isRelayed ? try world.relayed() : nil
        let connection = try await app.open(server, isSecure: true)
        let peer = connection.facts
        #expect(peer.tls?.version == "TLSv1.3" && peer.tls?.cipher.hasPrefix("TLS_") == true)
        let certificate = try tls.identity.der
        #expect(peer.tls?.certificates == [certificate] && peer.tls?.disabledChecks == [])
        #expect(peer.tls?.applicationProtocol == nil)
        #expect(peer.connection.relay?.port == relay?.port)
        #expect(peer.connection.remotePort == relay?.port ?? server.port)
        #expect(peer.decision?.route == (isRelayed ? .relay : .direct))
    }

    @Test(arguments: [false, true])
    func anApplicationProtocolIsChosen(_ isRelayed: Bool) async throws {
        let server = try world.server(isSecure: true, { $0.applicationProtocol = "chat/2" }) { client in
            client.write([1])
            _ = client.read(upTo: 1)
        }
        let relay = isRelayed ? try world.relayed() : nil
        let connection = try await app.open(server, isSecure: true) {
            $0.applicationProtocols = ["h2", "chat/2", "chat/1"]
        }
        #expect(connection.facts.tls?.applicationProtocol == "chat/2")
        #expect(try await connection.read() == [1])
        let error = try await failure(server) { $0.applicationProtocols = ["chat/1"] }
        #expect(error?.code == .tlsFailed)
        _ = relay
    }

    private static let longName = String(repeating: "a", count: 127)

    @Test(arguments: [[""], [longName + longName + "aa"], Array(repeating: longName, count: 9)])
    func namesThatALPNCannotHaveAreRefused(_ names: [String]) async throws {
        let server = try world.mirror(isSecure: true)
        let error = try await failure(server) { $0.applicationProtocols = names }
        #expect(error?.code == .invalidRequest)
        #expect(server.acceptedConnections == 0)
    }

    @Test(arguments: [false, true])
    func aClientCertificateIsShownWhereItIsAskedFor(_ isRelayed: Bool) async throws {
        let clients = try TestAuthority(name: "Clients")
        let seen = Lock<[UInt8]?>(nil)
        let tls = try TestTLS(
            world.origin.server(names: ["localhost"], addresses: [.v4(0x7f00_0001)]), requiring: clients)
        let server = try TestServer { connection in
            guard let client = tls.accept(connection) else { return }
            seen.withLock { $0 = client.peerCertificate }
            client.write("x")
            _ = client.read()
        }
        let relay = isRelayed ? try world.relayed() : nil
        let identity = try clients.client()
        let showing = try identity.clientIdentity
        #expect(try await failure(server) { $0.clientIdentity = showing } == nil)
        let shown = try identity.der
        #expect(seen.withLock { $0 } == shown)
        // TLS 1.3 tells of it behind the handshake only.
        #expect(try await failure(server)?.code == .clientCertificateRefused)
        _ = relay
    }

    // MARK: Versions

    @Test func boundsAndBlocksLeaveWhatTheyLeave() async throws {
        let server = try world.server(isSecure: true, { $0.version = .tls12 }) { client in
            client.write([1])
            _ = client.read(upTo: 1)
        }
        #expect(try await failure(server) == nil)
        #expect(try await failure(server) { $0.minimumTLSVersion = .tls13 }?.code == .noCommonTLSVersion)
        let relay = try world.relayed(blocking: [.tls12])
        let blocked = try await failure(server)
        #expect(blocked?.code == .noCommonTLSVersion && blocked?.step == .serverTLS)
        #expect(
            blocked?.message
                == "The peer accepts none of the offered versions (TLS1.3). The policy blocks TLS1.2.")
        let other = try world.relayed(floor: .tls13)
        let error = try await failure(server) { $0.maximumTLSVersion = .tls12 }
        #expect(error?.code == .noCommonTLSVersion && error?.step == .routing)
        #expect(other.acceptedConnections == 0)
        _ = relay
    }

    @Test func lowerVersionsAreTriedOnceMoreWhereTheAppAddsThem() async throws {
        let old = try SocketApp(in: World(), added: TLSVersions([.tls11]))
        let server = try old.world.server(isSecure: true, { $0.version = .tls11 }) { client in
            client.write([1])
            _ = client.read(upTo: 1)
        }
        let connection = try await old.open(server, isSecure: true)
        #expect(connection.facts.tls?.version == "TLSv1.1")
        #expect(server.acceptedConnections == 2)
        _ = try await old.open(server, isSecure: true)
        #expect(server.acceptedConnections == 3, "known to speak lower versions only")
        #expect(try await failure(server)?.code == .noCommonTLSVersion)
    }

    /// An attacker on the network may end a handshake, but not downgrade the connection to a known server.
    @Test func aServerOnceReachedWithHigherVersionsIsNotOfferedLower() async throws {
        let old = try SocketApp(in: World(), added: TLSVersions([.tls11]))
        let turn = Lock(0)
        let modern = old.world.originTLS
        var lower = modern
        lower.version = .tls11
        let legacy = lower
        let server = try TestServer { connection in
            let number = turn.withLock { turn in
                turn += 1
                return turn
            }
            guard let client = (number == 1 ? modern : legacy).accept(connection) else { return }
            client.write("x")
            _ = client.read()
        }
        _ = try await old.open(server, isSecure: true)
        let error = await #expect(throws: LoadError.self) { try await old.open(server, isSecure: true) }
        #expect(error?.code == .noCommonTLSVersion)
        #expect(server.acceptedConnections == 2)
    }

    // MARK: The policy

    @Test func deniedServersAreNotConnectedTo() async throws {
        let server = try world.mirror(isSecure: false)
        world.gate.route(by: RoutingTable(default: .deny))
        let error = try await failure(server)
        #expect(error?.code == .refusedByPolicy && (error?.underlying as? AccessDenied) != nil)
        #expect(server.acceptedConnections == 0)
    }

    /// The relay is gone: the server, which could be reached, is not.
    @Test func aRelayedServerIsNeverReachedDirectly() async throws {
        let server = try world.mirror(isSecure: false)
        let relay = try world.relayed()
        relay.stop()
        let error = await #expect(throws: LoadError.self) { try await app.open(server, isSecure: false) }
        #expect(error?.code == .relayUnreachable)
        #expect(server.acceptedConnections == 0)
    }

    @Test func aRelayWithoutAddressIsNoWay() async throws {
        let server = try world.mirror(isSecure: false)
        world.gate.route(by: RoutingTable(domains: [], default: .relay, defaultPorts: Set(1...65535)))
        let error = await #expect(throws: LoadError.self) { try await app.open(server, isSecure: false) }
        #expect(error?.code == .relayUnreachable && server.acceptedConnections == 0)
    }

    @Test func theRelaysRefusalAndItsTimeoutAreToldApart() async throws {
        let server = try world.mirror(isSecure: false)
        for (status, number) in [(403, 1), (504, 2)] {
            let relay = try world.relayed { connection, tls in
                guard let client = tls.accept(connection), client.readHead() != nil else { return }
                client.write("HTTP/1.1 \(status) No\r\nProxy-Status: test\r\nContent-Length: 0\r\n\r\n")
            }
            let error = await #expect(throws: LoadError.self) { try await app.open(server, isSecure: false) }
            #expect(error.map { SocketError($0).number } == number && error?.code == .relayRefused)
            _ = relay
        }
    }

    @Test func withoutAuthorizationNothingIsConnected() async throws {
        let server = try world.mirror(isSecure: false)
        let sockets = SocketSystem(gate: StubGate(denied: AccessDenied(.notAuthorized)))
        let error = await #expect(throws: LoadError.self) {
            try await sockets.connect(to: server.endpoint, isSecure: false)
        }
        #expect(error?.code == .notAuthorized && server.acceptedConnections == 0)
    }

    @Test(arguments: [ResultCode.blocked, .remoteLockout, .wiped], [false, true])
    func aWithdrawalEndsConnectionsWithItsCode(_ code: ResultCode, _ isRelayed: Bool) async throws {
        let server = try world.server(isSecure: true) { client in
            client.write(Array("secret".utf8))
            _ = client.readAll()
        }
        let relay = isRelayed ? try world.relayed() : nil
        let connection = try await app.open(server, isSecure: true)
        #expect(try await eventually { connection.receivedBytes == 6 })
        world.gate.withdraw(code)
        #expect(try await eventually { server.openConnections == 0 })
        for _ in 0..<2 {
            let error = await #expect(throws: LoadError.self) { try await connection.read() }
            #expect(error?.code == .withdrawn)
            #expect((error?.underlying as? AccessDenied)?.code == code)
        }
        await #expect(throws: LoadError(.withdrawn, "")) { try await connection.write("more") }
        await #expect(throws: LoadError(.withdrawn, "")) { try await app.open(server, isSecure: true) }
        _ = relay
    }

    @Test func shutdownEndsThemAll() async throws {
        let server = try world.mirror(isSecure: false)
        let connection = try await app.open(server, isSecure: false)
        await app.sockets.shutdown()
        await #expect(throws: LoadError.self) { try await connection.read() }
        await #expect(throws: LoadError.self) { try await app.open(server, isSecure: false) }
        #expect(try await eventually { server.openConnections == 0 })
    }
}
