import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import Sallyport
import SallyportAuthToken
import SallyportAuthTokenVerification
import SallyportAuthorization
import SallyportBase
import SallyportCore
import SallyportSecureStore
import SallyportTransport
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway
@testable import TokenService

/// A gateway that listens, an activated app, and a service of Hummingbird's that trusts tokens; the gateway's clock is the
/// test's, and begins an hour late.
struct Enterprise: Sendable {
    static let user = "ånn@corp.example"
    static let entitlement = "com.example.report"
    static let server = "reports.corp.example"

    let data: GatewayData
    let app: Sallyport
    /// Its control port.
    let gateway: Endpoint
    /// The gateway's, PEM.
    let authorityFile: String
    private let offset: Lock<TimeInterval>
    private let transport: Transport
    /// Of the service.
    let port: Int

    /// What is wanted of the service.
    struct Wish: Sendable, CustomTestStringConvertible {
        var isOnline = false
        var use = AuthTokenUse.once
        var requiresProof = false
        var testDescription: String { isOnline ? "on-line" : "off-line" }
    }
    enum AuthTokenUse: Sendable { case once, session }

    static func with(_ wish: Wish, _ body: @Sendable (Enterprise) async throws -> Void) async throws {
        let folder = try TemporaryDirectory()
        let offset = Lock<TimeInterval>(-30 * 86_400)
        let store = try await SecureStore.open(
            at: folder.file("gateway"), protectedBy: .keyFile(folder.file("gateway.key")))
        try await GatewayData.initialize(store, name: "localhost")
        let data = try await GatewayData.open(store) { Date().addingTimeInterval(offset.withLock { $0 }) }
        for command: AdministrationCommand in [
            .addUser(user), .addUser("bob@corp.example"), .addApplication(entitlement: entitlement, version: "1.0.0.0"),
            .entitle(user: user, entitlement: entitlement, version: "1.0.0.0"),
        ] {
            try #require(await data.perform(command) == .done)
        }
        let (ready, continuation) = AsyncStream.makeStream(of: Int.self)
        let gateway = Gateway(
            data: data, at: folder.file("gateway"), configuration: .loopback,
            logger: Logger(label: "gateway") { _ in SwiftLogNoOpLogHandler() })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await gateway.run() }
            let control = try await gateway.listeners().controlPort
            // The keys of tokens are thirty days old; the app and its certificate begin an hour ago.
            offset.withLock { $0 = -3600 }
            let file = try folder.write(PEM.certificate(await data.authorityDER), to: "ca.pem")
            let endpoint = try Endpoint("localhost:\(control)")
            var settings = ServiceSettings(gateway: endpoint, authorityFile: file, server: server)
            (settings.port, settings.isOnline, settings.requiresProof) = (0, wish.isOnline, wish.requiresProof)
            settings.use = wish.use == .session ? .session : .once
            settings.origin = "https://reports.corp.example"
            let service = try TokenService.application(settings) { continuation.yield($0) }
            group.addTask {
                // If the start fails, this ends the wait below.
                defer { continuation.finish() }
                try await service.run()
            }
            var ports = ready.makeAsyncIterator()
            let port = try #require(await ports.next())
            try await withApp(folder, data) { app in
                let transport = Transport()
                let enterprise = Enterprise(
                    data: data, app: app, gateway: endpoint, authorityFile: file, offset: offset, transport: transport,
                    port: port)
                do { try await body(enterprise) } catch {
                    await transport.shutdown()
                    throw error
                }
                await transport.shutdown()
            }
            group.cancelAll()
        }
    }

    private static func withApp(
        _ folder: TemporaryDirectory, _ data: GatewayData, _ body: (Sallyport) async throws -> Void
    ) async throws {
        let app = try await Sallyport.open(
            store: folder.file("app"), protectedBy: .keyFile(folder.file("app.key")),
            logger: Logger(label: "app") { _ in SwiftLogNoOpLogHandler() })
        do {
            guard case .link(let link) = await data.perform(.issueKey(user: user, entitlement: entitlement)) else {
                throw GatewayError(.invalid, "no link")
            }
            try await app.authorization.activate(link: link)
            try await app.authorize()
            try await body(app)
            await app.shutdown()
        } catch {
            await app.shutdown()
            throw error
        }
    }

    // MARK: The gateway

    /// Turns the gateway's clock: seconds from now.
    func turnGateway(to seconds: TimeInterval) { offset.withLock { $0 = seconds } }

    func admin(_ command: AdministrationCommand) async throws {
        try #require(await data.perform(command) == .done)
    }

    func withdraw(_ withdrawal: AdministrationCommand.Withdrawal) async throws {
        let instance = try #require(app.authorization.configuration.application?.instanceIdentifier)
        try await admin(.withdraw(instance: instance, withdrawal))
    }

    // MARK: The app

    struct Answer: Sendable {
        let status: Int
        let text: String

        private struct Denial: Decodable {
            let error: String
            let challenge: String
        }
        private var denial: Denial? { try? JSONDecoder().decode(Denial.self, from: Data(text.utf8)) }
        /// Why not.
        var verdict: String? { denial?.error }
        var challenge: String? { denial?.challenge }
    }

    func get(
        _ token: String?, user: String = user, proof: String? = nil, path: String = "/reports",
        method: HTTPRequest.Method = .get
    ) async throws -> Answer {
        var fields = HTTPFields()
        if let token { fields[AuthToken.fieldName] = token }
        fields[try #require(HTTPField.Name("X-Good-GD-UserID"))] = user
        if let proof { fields[AuthToken.proofFieldName] = proof }
        var request = ExchangeRequest(
            method, try RequestURL("http://127.0.0.1:\(port)\(path)"), headerFields: fields, body: nil)
        request.deadline = .now + .seconds(10)
        let response = try await transport.exchange(request, via: ConnectionPath(identity: nil))
        let body = try await response.body.collect(upTo: .kibibytes(64))
        return Answer(status: response.head.status.code, text: String(decoding: body, as: UTF8.self))
    }

    /// A challenge of the service, which a request without a token is denied with.
    func challenge() async throws -> String {
        let answer = try await get(nil)
        try #require(answer.status == 401 && answer.verdict == "noToken")
        return try #require(answer.challenge)
    }

    func token(server: String = server, isBound: Bool = false) async throws -> AuthToken {
        try await app.authTokens.token(challenge: challenge(), serverName: server, isBound: isBound)
    }

    /// Claims of a true token, signed again with what the test likes.
    func forged(
        by key: P256.Signing.PrivateKey, keyID: String? = nil, _ change: (inout AuthTokenClaims) -> Void = { _ in }
    ) async throws -> String {
        let signed = try SignedAuthToken(Array(await token().text.reveal().utf8))
        var claims = try signed.claimsVouchedFor()
        change(&claims)
        return try SignedAuthToken.sign(claims, with: key, keyID: keyID ?? signed.keyID)
    }
}

extension GatewayData {
    /// Carries out a command of the test's.
    fileprivate func perform(_ command: AdministrationCommand) async -> AdministrationReply {
        await perform(command, by: .embedder)
    }
}
