import Foundation
import SallyportBase
import SallyportCore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// What a resumed TLS session, in which no certificate is sent, opens at a gateway's relay.
@Suite(.timeLimit(.minutes(1))) struct ResumedSessionTests {
    /// What a CONNECT in a session came to; nil where the relay did not answer.
    fileprivate struct Attempt: Hashable {
        let status: Int?
        let isResumed: Bool

        static let opened = Attempt(status: 200, isResumed: true)
        static let refused = Attempt(status: 403, isResumed: true)
    }

    /// A gateway, a server that echoes, and an instance that has a session with the relay.
    private struct ResumingInstance {
        let fixture: ControlFixture
        let target: UInt16
        let identity: ClientIdentity
        let client: ResumingClient

        static func with(
            _ version: TLSVersion = .tls13, _ body: @escaping @Sendable (ResumingInstance) async throws -> Void
        ) async throws {
            let origin = try await TestOrigin(echoes: true)
            try await ControlFixture.with { fixture in
                try await fixture.data.perform(.addServer(.init(endpoint: "127.0.0.1:\(origin.port)")))
                let identity = try await fixture.activated()
                let client = try ResumingClient(
                    authority: PEM.certificate(fixture.authority),
                    certificate: PEM.certificate(identity.certificates[0]), key: identity.privateKey.reveal(),
                    version: version)
                let instance = ResumingInstance(
                    fixture: fixture, target: origin.port, identity: identity, client: client)
                try #require(instance.connect() == Attempt(status: 200, isResumed: false))
                try await body(instance)
            }
            try await origin.close()
        }

        func connect() -> Attempt? { client.attempt(through: fixture.relayPort, to: target) }
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func itOpensATunnelWhileTheCertificateIsGood(_ version: TLSVersion) async throws {
        try await ResumingInstance.with(version) { instance in
            #expect(instance.connect() == .opened)
            #expect(instance.connect() == .opened)
        }
    }

    @Test(arguments: [TLSVersion.tls12, .tls13], [AdministrationCommand.Withdrawal.block, .lock, .wipe])
    func itOpensNoneForAWithdrawnInstance(
        _ version: TLSVersion, _ withdrawal: AdministrationCommand.Withdrawal
    ) async throws {
        try await ResumingInstance.with(version) { instance in
            let data = instance.fixture.data
            let name = try await data.data.presented(instance.identity.certificates[0]).name
            try await data.perform(.withdraw(instance: name.instance.description, withdrawal))
            #expect(instance.connect() == .refused)
        }
    }

    @Test func itOpensNoneOnceTheCertificateWasReplaced() async throws {
        try await ResumingInstance.with { instance in
            let renewed = try await instance.fixture.renewed(instance.identity)
            #expect(instance.connect() == .opened)
            _ = try await instance.fixture.document(as: renewed)
            #expect(instance.connect() == .refused)
        }
    }

    @Test func itOpensNoneOnceTheCertificateHasExpired() async throws {
        try await ResumingInstance.with { instance in
            instance.fixture.data.advance(CertificateAuthority.Lifetime.instance - 60)
            #expect(instance.connect() == .opened)
            instance.fixture.data.advance(120)
            #expect(instance.connect() == .refused)
        }
    }

    @Test func itOpensNoneOnceTheUserIsGone() async throws {
        try await ResumingInstance.with { instance in
            try await instance.fixture.data.perform(.removeUser("ann", confirmed: true))
            #expect(instance.connect() == .refused)
        }
    }

    /// The keys of tickets are the listener's of one set of authorities.
    @Test(arguments: [TLSVersion.tls12, .tls13])
    func itEndsWithTheAuthoritiesThatItWasBegunUnder(_ version: TLSVersion) async throws {
        let origin = try await TestOrigin(echoes: true)
        try await RelayFixture.with { fixture in
            let identity = try fixture.authority.client()
            let client = try ResumingClient(
                authority: fixture.authority.pem, certificate: identity.pem, key: identity.keyPEM, version: version)
            let connect = { client.attempt(through: fixture.port, to: origin.port) }
            #expect(connect() == Attempt(status: 200, isResumed: false))
            #expect(connect() == .opened)
            let server = try RelayFixture.identity(fixture.authority)
            try fixture.relay.use(server, trust: [fixture.authority.der])
            #expect(connect() == Attempt(status: 200, isResumed: false))
            try fixture.relay.use(server, trust: [TestAuthority().der])
            #expect(connect()?.status == nil)
        }
        try await origin.close()
    }
}

extension ResumingClient {
    fileprivate func attempt(through relay: UInt16, to port: UInt16) -> ResumedSessionTests.Attempt? {
        guard let connection = connect(to: relay) else { return nil }
        connection.write("CONNECT 127.0.0.1:\(port) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
        let head = connection.readHead()
        let status = head?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        hangUp(connection, keepingSession: head != nil)
        return .init(status: status, isResumed: connection.isResumed)
    }
}
