import Crypto
import Foundation
import HTTPTypes
import Logging
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import SallyportWire
import Testing

@testable import SallyportGateway

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
    let listeners: Gateway.Listeners
    var port: Int { listeners.controlPort }
    var metricsPort: UInt16 { UInt16(listeners.metricsPort ?? 0) }
    var relayPort: UInt16 { UInt16(listeners.relayPort) }
    /// The port for verification without TLS.
    private let plainPort: Int
    let authority: [UInt8]
    private let transport: Transport
    /// The connections opened through the fixture: a gateway that ends waits for clients that stay connected.
    private let opened = Lock<[TestConnection]>([])

    /// - Parameters:
    ///   - served: what the gateway runs on, if that is not the data of `data`, but another gateway's.
    ///   - lease: of the gateway, on word from a shared store.
    static func with(
        _ data: DataFixture? = nil, servedFrom served: GatewayData? = nil,
        limits: ConnectionLimits = ConnectionLimits(), patience: Duration = .seconds(1),
        lease: Duration = .seconds(300),
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        _ body: @Sendable (ControlFixture) async throws -> Void
    ) async throws {
        let data = if let data { data } else { try await DataFixture() }
        var configuration = Gateway.Configuration.loopback
        configuration.plainVerification = .init(host: "localhost", port: 0)
        configuration.metrics = .init(host: "localhost", port: 0)
        configuration.connections = limits
        configuration.relayPatience = patience
        configuration.relayLease = lease
        let gateway = Gateway(data: served ?? data.data, at: data.path, configuration: configuration, logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await gateway.run() }
            let listeners = try await gateway.listeners()
            let transport = Transport()
            let fixture = await ControlFixture(
                data: data, listeners: listeners, plainPort: try #require(listeners.verificationPort),
                authority: data.data.authorityDER, transport: transport)
            do { try await body(fixture) } catch {
                await fixture.leave()
                throw error
            }
            await fixture.leave()
            group.cancelAll()
        }
    }

    private func leave() async {
        for connection in opened.withLock({ $0 }) { connection.close() }
        await transport.shutdown()
    }

    private init(
        data: DataFixture, listeners: Gateway.Listeners, plainPort: Int, authority: [UInt8], transport: Transport
    ) {
        self.data = data
        self.listeners = listeners
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

    /// Sends a request to the listener of metrics and health.
    func observe(_ path: String, _ method: HTTPRequest.Method = .get) async throws -> Answer {
        try await send(method, RequestURL("http://127.0.0.1:\(metricsPort)\(path)"), nil, nil, [:])
    }

    /// Sends a request without TLS.
    func getPlainly(_ path: String, fields: HTTPFields = [:]) async throws -> Answer {
        try await send(.get, RequestURL("http://127.0.0.1:\(plainPort)\(path)"), nil, nil, fields)
    }

    func renew(
        as identity: ClientIdentity, key: P256.Signing.PrivateKey = .init()
    ) async throws -> Answer {
        let request = ESTBody.encode(try DataFixture.request(key))
        return try await post(ControlAPI.Path.reenroll, Array(request.utf8), as: identity)
    }

    /// The identity that a renewal gives in place of another.
    func renewed(_ identity: ClientIdentity) async throws -> ClientIdentity {
        let key = P256.Signing.PrivateKey()
        let answer = try await renew(as: identity, key: key)
        guard answer.status == 200 else { throw TestFailure("renewal: \(answer.status)") }
        let bag = try CertificateBag(parsing: ESTBody.decode(answer.body))
        return ClientIdentity(certificates: bag.certificates, privateKey: Redacted(key.pemRepresentation))
    }

    /// Uses a link, from the address of this test.
    func enroll(user: String, key: String) async throws -> Answer {
        let credentials = BasicCredentials(user: user, password: Redacted(key))
        let request = ESTBody.encode(try DataFixture.request())
        return try await post(
            ControlAPI.Path.enroll, Array(request.utf8), fields: [.authorization: credentials.fieldValue.reveal()])
    }

    func enroll(_ link: ActivationLink) async throws -> Answer {
        try await enroll(user: link.user, key: link.accessKey.reveal())
    }

    /// The signed configuration, without verifying its signature.
    func document(as identity: ClientIdentity) async throws -> ConfigurationDocument {
        let answer = try await get(ControlAPI.Path.configuration, as: identity)
        guard answer.status == 200 else { throw TestFailure("configuration: \(answer.status)") }
        return try ConfigurationDocument(
            parsing: JWS(answer.body, type: ConfigurationDocument.type).payload)
    }

    /// Sends a CONNECT, and returns what the relay answered.
    func connect(
        to port: UInt16, as identity: ClientIdentity
    ) async throws -> (connection: TestConnection, status: Int) {
        let connection = try await open(relayPort, as: identity)
        connection.send("CONNECT 127.0.0.1:\(port) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
        let words = try await connection.head().split(separator: " ")
        return (connection, Int(words[1]) ?? 0)
    }

    /// A connection to the control listener.
    func connection(as identity: ClientIdentity? = nil) async throws -> TestConnection {
        try await open(UInt16(listeners.controlPort), as: identity)
    }

    private func open(_ port: UInt16, as identity: ClientIdentity?) async throws -> TestConnection {
        let connection = try await TestConnection.open(port: port, authority: authority, identity: identity)
        opened.withLock { $0.append(connection) }
        return connection
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
            status: response.head.status.code, body: try await response.body.collect(upTo: .kibibytes(64)),
            fields: response.head.headerFields)
    }
}

extension DataFixture {
    /// The identity of a new instance, as the client holds it.
    func identity() async throws -> ClientIdentity {
        let key = P256.Signing.PrivateKey()
        let chain = try await chain(link(), Self.request(key))
        return ClientIdentity(certificates: [chain[0]], privateKey: Redacted(key.pemRepresentation))
    }
}
