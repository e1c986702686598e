// A service that trusts tokens: apps behind the gateway use it without a password of their own.
//
//     GATEWAY=gateway.corp.example:17433 GATEWAY_CA=ca.pem SERVER_NAME=reports.corp.example swift run TokenService
//
// CHECK=online asks the gateway for each request, USE=session takes a token until it expires or the app logs out, and
// PROOF=required demands a proof of the instance's key. Docs/AuthTokens.md has the sequences.

import Glibc
import Hummingbird
import Logging
import SallyportAuthTokenVerification
import SallyportCore
import SallyportLoading

/// What the service is told by its environment.
struct ServiceSettings: Sendable {
    var gateway: Endpoint
    /// PEM.
    var authorityFile: String
    /// What apps ask for tokens with.
    var server: String
    /// How apps reach the service; its own address where nothing is said.
    var origin: String?
    var port = 8080
    var isOnline = false
    var use = AuthTokenSessions.Use.once
    var requiresProof = false

    init(gateway: Endpoint, authorityFile: String, server: String) {
        (self.gateway, self.authorityFile, self.server) = (gateway, authorityFile, server)
    }

    init?(_ environment: (String) -> String?) {
        guard let gateway = environment("GATEWAY").flatMap({ try? Endpoint($0) }),
            let authorityFile = environment("GATEWAY_CA"), let server = environment("SERVER_NAME")
        else { return nil }
        self.init(gateway: gateway, authorityFile: authorityFile, server: server)
        origin = environment("ORIGIN")
        port = environment("PORT").flatMap { Int($0) } ?? port
        isOnline = environment("CHECK") == "online"
        use = environment("USE") == "session" ? .session : .once
        requiresProof = environment("PROOF") == "required"
    }
}

@main enum TokenService {
    static func main() async throws {
        guard let settings = ServiceSettings({ name in getenv(name).map { String(cString: $0) } }) else {
            print("GATEWAY=HOST:PORT, GATEWAY_CA=FILE and SERVER_NAME are needed.")
            exit(64)
        }
        try await application(settings) { port in
            print("ready: http://127.0.0.1:\(port)")
            // The reader of this pipe waits for the output.
            fflush(nil)
        }.runService()
    }

    static func application(
        _ settings: ServiceSettings, whenReady: @escaping @Sendable (Int) -> Void
    ) throws -> some ApplicationProtocol {
        let gateway = try GatewayClient(
            host: settings.gateway.host.bareText, port: Int(settings.gateway.port),
            authorityFile: settings.authorityFile)
        let verifier =
            settings.isOnline
            ? AuthTokenVerifier(service: gateway, requireProof: settings.requiresProof)
            : AuthTokenVerifier(
                keys: PublishedKeys(from: gateway), issuer: "https://\(settings.gateway)",
                requireProof: settings.requiresProof)
        let sessions = AuthTokenSessions(verifier: verifier, use: settings.use)
        return Application(
            router: router(sessions, settings),
            configuration: .init(address: .hostname("127.0.0.1", port: settings.port), serverName: nil),
            onServerRunning: { channel in whenReady(channel.localAddress?.port ?? 0) },
            logger: Logger(label: "token-service"))
    }

    private static func router(_ sessions: AuthTokenSessions, _ settings: ServiceSettings) -> Router<ServiceContext> {
        let router = Router(context: ServiceContext.self)
        router.get("/health") { _, _ in "ok\n" }
        let inside = router.group().add(
            middleware: AuthTokenMiddleware(
                sessions: sessions, server: settings.server,
                origin: settings.origin ?? "http://127.0.0.1:\(settings.port)"))
        inside.get("/reports") { _, context in
            "The figures of today, for \(context.token?.user ?? "nobody").\n"
        }
        inside.post("/logout") { _, context in
            if let token = context.token { try await sessions.endSession(token) }
            return "Good-bye.\n"
        }
        return router
    }
}
