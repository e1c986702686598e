import ArgumentParser
import HTTPTypes
import SallyportAuthTokenVerification
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import SallyportWire

/// The verification of one token, with the program's own client.
struct TokenVerification {
    private let command: TokenCommand.VerifyCommand

    init(_ command: TokenCommand.VerifyCommand) { self.command = command }

    static func isURL(_ text: String) -> Bool { text.contains("://") }

    /// Requires TLS, except to this machine: keys from an unauthenticated source prove nothing.
    static func check(_ text: String) throws {
        guard let url = try? RequestURL(text), let endpoint = url.endpoint else {
            throw ValidationError("--keys and --online take http and https URLs.")
        }
        guard url.isSecure || isLocal(endpoint.host) else {
            throw ValidationError("--keys and --online take http URLs of this machine only; others must be https.")
        }
    }

    private static func isLocal(_ host: Host) -> Bool {
        switch host {
        case .address(let address): address.scope == .loopback
        case .name(let name): name == "localhost"
        }
    }

    /// What `token verify` prints of a token that holds.
    struct Report: Encodable, Sendable {
        let verdict = "valid"
        let code = 100
        let user: String
        let server: String
        let challenge: String
        let application: String
        let instance: String
        /// Unix seconds.
        let issuedAt: Int64
        let expires: Int64

        init(_ token: VerifiedAuthToken) {
            (user, server, challenge) = (token.user, token.server, token.challenge)
            (application, instance) = (token.application, token.instance)
            (issuedAt, expires) = (token.issuedAt, token.expires)
        }

        var text: String {
            OneLine.of("valid: \(user) by \(application) for \(server.isEmpty ? "any server" : server)")
        }
    }

    func run() async throws -> Report {
        // More than a token has, so that one that is too long gets its verdict too.
        let text = try InputFile.text(command.tokenFile, limit: 16 << 10)
        let transport = Transport()
        do {
            let verifier = try verifier(by: transport)
            let expected = AuthTokenExpectation(
                user: command.user, server: command.server, challenge: command.challenge)
            // Without the end of its line; what stands inside is part of what is verified.
            let token = try await verifier.verify(String(text.trimming { $0 <= 0x20 }), for: expected)
            await transport.shutdown()
            return Report(token)
        } catch {
            await transport.shutdown()
            throw error
        }
    }

    private func verifier(by transport: Transport) throws -> AuthTokenVerifier {
        let own = try command.ca.map {
            try PEMFile.blocks("CERTIFICATE", at: $0, limit: 1 << 20, awaiting: Workplace.current.hasInput)
        }
        let anchors = own.map { TrustAnchors.gateway($0) } ?? .system
        if let online = command.online {
            return AuthTokenVerifier(
                service: GatewayAnswers(transport: transport, url: try RequestURL(online), anchors: anchors), leeway: 0)
        }
        guard let keys = command.keys else { throw CommandFailure(.usage, name: "usage", "Give --keys or --online.") }
        guard Self.isURL(keys) else {
            let document = try InputFile.bytes(keys, limit: JWKSet.Limits.document)
            try Self.check(document, from: keys)
            return AuthTokenVerifier(keys: PublishedKeys(from: FixedKeys(document)), issuers: Set(command.issuer))
        }
        let url = try RequestURL(keys)
        let source = GatewayAnswers(transport: transport, url: url, anchors: anchors)
        let issuers = command.issuer.isEmpty ? [url.origin] : Set(command.issuer)
        return AuthTokenVerifier(keys: PublishedKeys(from: source), issuers: issuers)
    }
}

extension TokenVerification {
    /// Before the token is looked at: no token could be verified by a file of something else.
    private static func check(_ document: [UInt8], from file: String) throws(CommandFailure) {
        let reason: String
        do throws(WireError) {
            guard try JWKSet(parsing: document).keys.isEmpty else { return }
            reason = "It has no key for signatures by ES256."
        } catch {
            reason = error.message
        }
        throw CommandFailure(
            .usage, name: "invalid", "\(InputFile.name(of: file)) holds no published keys: \(reason)",
            hint: "https://GATEWAY/.well-known/jwks.json answers with them")
    }
}

/// What the gateway answers at one URL, in 10 s at the most.
private struct GatewayAnswers: AuthTokenKeySource, AuthTokenService {
    let transport: Transport
    let url: RequestURL
    let anchors: TrustAnchors

    func fetchKeys() async throws -> [UInt8] {
        let response = try await response([:])
        guard response.head.status == .ok else {
            throw LoadError(
                .protocolViolation, "The keys are not there: \(url.redacted) answers with \(response.head.status.code)."
            )
        }
        return try await response.body.collect(upTo: .kibibytes(64))
    }

    func verify(_ headerFields: HTTPFields) async throws -> HTTPResponse {
        let response = try await response(headerFields)
        _ = try await response.body.collect(upTo: .kibibytes(64))
        return response.head
    }

    private func response(_ fields: HTTPFields) async throws -> ExchangeResponse {
        var request = ExchangeRequest(.get, url, headerFields: fields, body: nil)
        request.deadline = .now + .seconds(10)
        return try await transport.exchange(request, via: ConnectionPath(trust: anchors, identity: nil))
    }
}
