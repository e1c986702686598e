import Crypto
import Foundation
import HTTPTypes
import Logging
import SallyportCore
import SallyportTransport
import SallyportWire
import Testing

@testable import SallyportGateway

/// The control plane of a running gateway, over TLS, as a client sees it.
@Suite struct ControlPlaneTests {
    @Test func healthNeedsNoCertificate() async throws {
        try await ControlFixture.with { fixture in
            let answer = try await fixture.get(ControlAPI.Path.health)
            #expect(answer.status == 200)
        }
    }

    @Test(arguments: [ControlAPI.Path.configuration, ControlAPI.Path.events])
    func aPathThatNeedsACertificateRefusesWithout(path: String) async throws {
        try await ControlFixture.with { fixture in
            let answer = try await fixture.get(path)
            #expect(answer.status == 401)
            #expect(try answer.failure().error.name == "unauthorized")
        }
    }

    /// What a proxy in front might add counts for nothing.
    @Test func aForwardedCertificateIsNotTrusted() async throws {
        try await ControlFixture.with { fixture in
            let identity = try await fixture.activated()
            let der = Data(identity.certificates[0]).base64EncodedString()
            for name in ["X-Client-Cert", "X-SSL-Client-Cert", "X-Forwarded-Client-Cert", "Client-Cert"] {
                var fields = HTTPFields()
                fields[try #require(HTTPField.Name(name))] = ":\(der):"
                #expect(try await fixture.get(ControlAPI.Path.configuration, fields: fields).status == 401)
            }
        }
    }

    @Test func anExpiredCertificateMayOnlyRenew() async throws {
        try await ControlFixture.with { fixture in
            let identity = try await fixture.activated()
            #expect(try await fixture.get(ControlAPI.Path.configuration, as: identity).status == 200)
            fixture.data.advance(8 * 86_400)
            for path in [ControlAPI.Path.configuration, ControlAPI.Path.events] {
                let answer = try await fixture.get(path, as: identity)
                #expect(answer.status == 403)
                #expect(try answer.failure().error.name == "expired")
            }
            #expect(try await fixture.renew(as: identity).status == 200)
        }
    }

    @Test func aCertificateOfAnotherAuthorityIsNoIdentity() async throws {
        try await ControlFixture.with { fixture in
            let foreign = try await DataFixture()
            let identity = try await foreign.identity()
            await #expect(throws: LoadError.self) {
                try await fixture.get(ControlAPI.Path.configuration, as: identity)
            }
        }
    }

    @Test func aWipedInstanceHearsOfItAndGetsNothingElse() async throws {
        try await ControlFixture.with { fixture in
            let identity = try await fixture.activated()
            let name = try await fixture.data.data.presented(identity.certificates[0]).name
            try await fixture.data.perform(.withdraw(instance: name.instance.description, .wipe))
            #expect(try await fixture.get(ControlAPI.Path.configuration, as: identity).status == 200)
            #expect(try await fixture.get(ControlAPI.Path.events, as: identity).status == 403)
            #expect(try await fixture.renew(as: identity).status == 403)
        }
    }

    @Test func aBodyOverTheLimitIsRefused() async throws {
        try await ControlFixture.with { fixture in
            let body = [UInt8](repeating: UInt8(ascii: "A"), count: ControlAPI.Limits.request + 1)
            #expect(try await fixture.post(ControlAPI.Path.reenroll, body).status >= 400)
            let identity = try await fixture.activated()
            #expect(try await fixture.post(ControlAPI.Path.reenroll, body, as: identity).status == 413)
        }
    }

    @Test(arguments: ["", "!!!", "AAAA", "MAA="])
    func aMalformedRenewalIsRefusedAndChangesNothing(body: String) async throws {
        try await ControlFixture.with { fixture in
            let identity = try await fixture.activated()
            #expect(try await fixture.post(ControlAPI.Path.reenroll, Array(body.utf8), as: identity).status == 400)
            #expect(try await fixture.get(ControlAPI.Path.configuration, as: identity).status == 200)
        }
    }

    @Test func namesAreAnsweredForWhoeverThePolicyRelaysThere() async throws {
        try await ControlFixture.with { fixture in
            let identity = try await fixture.activated()
            let name = try #require(DNSName("db.corp.example"))
            let query = try DNSMessage(query: .init(name, .a)).serialized()
            func ask(_ body: [UInt8]) async throws -> ControlFixture.Answer {
                try await fixture.post(
                    ControlAPI.Path.names, body, as: identity, fields: [.contentType: ControlAPI.MediaType.query])
            }
            #expect(try await fixture.post(ControlAPI.Path.names, query).status == 401)
            #expect(try DNSMessage(parsing: await ask(query).body).code == .refused)
            try await fixture.data.perform(
                .addServer(.init(endpoint: "db.corp.example:5432", address: "10.1.2.3")))
            let answer = try DNSMessage(parsing: await ask(query).body)
            #expect(answer.answers.map(\.data) == [.address(.v4(0x0a01_0203))])
            try await fixture.data.perform(.setRoute(domain: "corp.example", route: "deny", ports: nil))
            #expect(try DNSMessage(parsing: await ask(query).body).code == .refused)
            #expect(try await ask([1, 2, 3]).status == 400)
            #expect(try await fixture.post(ControlAPI.Path.names, query, as: identity).status == 400)
            #expect(try await ask([UInt8](repeating: 0, count: ControlAPI.Limits.query + 1)).status == 413)
            var statuses: Set<Int> = []
            for _ in 0..<200 where !statuses.contains(429) { statuses.insert(try await ask(query).status) }
            #expect(statuses == [200, 429])
        }
    }

    @Test func anUnknownPathIsNotFound() async throws {
        try await ControlFixture.with { fixture in
            let answer = try await fixture.get("/v2/anything")
            #expect(answer.status == 404)
        }
    }
}

/// A gateway that listens on loopback, over data whose clock the test moves.
struct ControlFixture: Sendable {
    struct Answer: Sendable {
        let status: Int
        let body: [UInt8]
        var fields: HTTPFields = [:]

        func failure() throws -> ControlAPI.Failure {
            try JSONDecoder().decode(ControlAPI.Failure.self, from: Data(body))
        }
    }

    let data: DataFixture
    private let port: Int
    /// Of verification without TLS.
    private let plainPort: Int
    private let authority: [UInt8]
    private let transport: Transport

    static func with(_ body: @Sendable (ControlFixture) async throws -> Void) async throws {
        let data = try await DataFixture()
        let (ports, continuation) = AsyncStream.makeStream(of: Gateway.Listeners.self)
        var configuration = Gateway.Configuration()
        (configuration.controlHost, configuration.controlPort) = ("127.0.0.1", 0)
        (configuration.relayHost, configuration.relayPort) = ("127.0.0.1", 0)
        configuration.plainVerification = .init(host: "localhost", port: 0)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let gateway = Gateway(data: data.data, at: data.path, configuration: configuration, logger: logger) {
            continuation.yield($0)
            continuation.finish()
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                // A gateway that cannot start ends the wait below.
                defer { continuation.finish() }
                try await gateway.run()
            }
            var iterator = ports.makeAsyncIterator()
            let listeners = try #require(await iterator.next())
            let transport = Transport()
            let fixture = await ControlFixture(
                data: data, port: listeners.controlPort, plainPort: try #require(listeners.verificationPort),
                authority: data.data.authorityDER, transport: transport)
            do { try await body(fixture) } catch {
                await transport.shutdown()
                throw error
            }
            await transport.shutdown()
            group.cancelAll()
        }
    }

    private init(data: DataFixture, port: Int, plainPort: Int, authority: [UInt8], transport: Transport) {
        self.data = data
        self.port = port
        self.plainPort = plainPort
        self.authority = authority
        self.transport = transport
    }

    func activated() async throws -> ClientIdentity { try await data.identity() }

    func get(_ path: String, as identity: ClientIdentity? = nil, fields: HTTPFields = [:]) async throws -> Answer {
        try await send(.get, path, nil, identity, fields)
    }

    func post(
        _ path: String, _ body: [UInt8], as identity: ClientIdentity? = nil, fields: HTTPFields = [:]
    ) async throws -> Answer {
        try await send(.post, path, body, identity, fields)
    }

    /// Without TLS.
    func getPlainly(_ path: String, fields: HTTPFields = [:]) async throws -> Answer {
        try await send(.get, RequestURL("http://127.0.0.1:\(plainPort)\(path)"), nil, nil, fields)
    }

    func renew(as identity: ClientIdentity) async throws -> Answer {
        let request = ESTBody.encode(try DataFixture.request())
        return try await post(ControlAPI.Path.reenroll, Array(request.utf8), as: identity)
    }

    private func send(
        _ method: HTTPRequest.Method, _ path: String, _ body: [UInt8]?, _ identity: ClientIdentity?,
        _ fields: HTTPFields
    ) async throws -> Answer {
        try await send(method, RequestURL("https://localhost:\(port)\(path)"), body, identity, fields)
    }

    private func send(
        _ method: HTTPRequest.Method, _ url: RequestURL, _ body: [UInt8]?, _ identity: ClientIdentity?,
        _ fields: HTTPFields
    ) async throws -> Answer {
        var request = ExchangeRequest(method, url, headerFields: fields, body: body.map(RequestBody.bytes))
        request.deadline = .now + .seconds(10)
        let response = try await transport.exchange(
            request, via: ConnectionPath(trust: .only([authority]), identity: identity))
        return Answer(
            status: response.head.status.code, body: try await response.body.collect(upTo: .kilobytes(64)),
            fields: response.head.headerFields)
    }
}

extension DataFixture {
    /// The identity of a new instance, as the client holds it.
    func identity() async throws -> ClientIdentity {
        let link = try await link()
        let key = P256.Signing.PrivateKey()
        let chain = try await data.enroll(
            BasicCredentials(user: link.user, password: link.accessKey), request: Self.request(key), source: "s")
        return ClientIdentity(certificates: [chain[0]], privateKey: Redacted(key.pemRepresentation))
    }
}
