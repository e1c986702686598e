import HTTPTypes
import SallyportCore
import SallyportTransport
import TestSupport
import Testing

/// Pinned keys, in addition to the check of the issuer (RFC 7469 §2.6).
@Suite(.timeLimit(.minutes(1)))
struct PinTests {
    private let authority: TestAuthority
    private let identity: TestIdentity
    private let server: TestServer
    private let transport = Transport()
    private let other: PublicKeyPin
    private static let loopback = Host.address(.v4(0x7f00_0001))

    init() throws {
        other = try #require(PublicKeyPin(sha256: [UInt8](repeating: 7, count: 32)))
        authority = try TestAuthority()
        identity = try authority.server(addresses: [.v4(0x7f00_0001)])
        let tls = TestTLS(identity)
        server = try TestServer { connection in
            guard let client = tls.accept(connection) else { return connection.awaitEnd() }
            client.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
    }

    private func failure(_ pins: [Host: Set<PublicKeyPin>], _ trust: TrustAnchors? = nil) async throws -> LoadError? {
        let path = try ConnectionPath(trust: trust ?? .only([authority.der]), pins: pins)
        do {
            _ = try await transport.exchange(.init(.get, server.url(scheme: "https")), via: path)
            return nil
        } catch let error as LoadError { return error }
    }

    @Test func aPinnedKeyOfServerOrAuthorityIsTaken() async throws {
        let pins = try [identity.publicKeySHA256, authority.publicKeySHA256].map {
            try #require(PublicKeyPin(sha256: $0))
        }
        for pin in pins { #expect(try await failure([Self.loopback: [other, pin]]) == nil) }
    }

    @Test func aServerWithoutAPinnedKeyIsRefused() async throws {
        for trust in [try TrustAnchors.only([authority.der]), try .systemAnd([authority.der])] {
            let error = try #require(await failure([Self.loopback: [other]], trust))
            #expect(error.code == .serverNotTrusted && error.step == .serverTLS && "\(error)".contains("pinned"))
        }
    }

    @Test func aPinnedKeyDoesNotStandForAnIssuer() async throws {
        let pin = try #require(PublicKeyPin(sha256: identity.publicKeySHA256))
        let error = try await failure([Self.loopback: [pin, other]], .system)
        #expect(error?.code == .serverNotTrusted)
    }

    @Test func anotherHostsPinsSayNothing() async throws {
        #expect(try await failure([Host("a.example"): [other]]) == nil)
    }

    @Test func aConnectionMadeUnderOtherPinsIsNotUsed() async throws {
        #expect(try await failure([:]) == nil)
        #expect(try await failure([Self.loopback: [other]]) != nil)
        #expect(try await failure([:]) == nil)
    }
}
