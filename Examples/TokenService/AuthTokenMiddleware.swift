import HTTPTypes
import Hummingbird
import Logging
import SallyportAuthTokenVerification

/// A request to this service, and its verified sender.
struct ServiceContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// Set for routes behind ``AuthTokenMiddleware``.
    var token: VerifiedAuthToken?

    init(source: ApplicationRequestContextSource) { coreContext = .init(source: source) }
}

/// Passes requests with a valid token of the gateway; refuses others, with a challenge for the next token.
///
/// The app sends `X-Good-GD-AuthToken`, the token, and `X-Good-GD-UserID`, the user that it claims; if proofs are
/// required, `DPoP` too. A refusal is 401, with `{"error":…,"challenge":…}`. Copy this file into your service.
struct AuthTokenMiddleware: RouterMiddleware {
    private static let token = HTTPField.Name("X-Good-GD-AuthToken")
    private static let user = HTTPField.Name("X-Good-GD-UserID")
    private static let proof = HTTPField.Name("DPoP")

    let sessions: AuthTokenSessions
    /// The name for which apps request tokens.
    let server: String
    /// The address at which apps reach this service: `https://HOST[:PORT]`. Proofs are for URLs below it.
    let origin: String

    func handle(
        _ request: Request, context: ServiceContext,
        next: @concurrent (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        guard let text = Self.value(Self.token, of: request), let user = Self.value(Self.user, of: request) else {
            return denial("noToken")
        }
        let proof = PresentedProof(
            Self.value(Self.proof, of: request), method: request.method.rawValue, url: origin + request.uri.path)
        var context = context
        do throws(AuthTokenVerificationError) {
            context.token = try await sessions.admit(text, for: .init(user: user, server: server), proof: proof)
        } catch {
            context.logger.notice("A token was refused.", metadata: ["verdict": "\(error.code)"])
            guard error.code != .unavailable, error.code != .store else { throw HTTPError(.serviceUnavailable) }
            return denial("\(error.code)")
        }
        return try await next(request, context)
    }

    private static func value(_ name: HTTPField.Name?, of request: Request) -> String? {
        name.flatMap { request.headers[$0] }
    }

    private func denial(_ verdict: String) -> Response {
        let challenge = sessions.makeChallenge()
        // Both are letters and digits: nothing to escape.
        let body = "{\"error\":\"\(verdict)\",\"challenge\":\"\(challenge)\"}\n"
        return Response(
            status: .unauthorized,
            headers: [
                .wwwAuthenticate: "GDAuthToken challenge=\"\(challenge)\"", .contentType: "application/json",
                .cacheControl: "no-store",
            ], body: .init(byteBuffer: .init(string: body)))
    }
}
