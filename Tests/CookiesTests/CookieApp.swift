import HTTPTypes
import Logging
import SallyportCore
import SallyportHTTPAuthentication
import SallyportLoading
import SallyportURLLoading
import SessionTestSupport
import TestSupport

@testable import SallyportCookies

/// An app with jars in a store, and an nginx that sets and logs cookies, reached directly or through a relay.
struct CookieApp: Sendable {
    let nginx: Nginx
    let relay: TestServer?
    let jars: CookieJars
    let loading: URLLoadingSystem
    private let world: World
    private let store: TestStore

    init(_ way: Way) async throws {
        let world = try World()
        let nginx = try await Self.startNginx(world.originTLS.identity)
        let relay = way == .relayed ? try world.relayed() : nil
        self.init(world, nginx, relay, try await TestStore())
    }

    private init(_ world: World, _ nginx: Nginx, _ relay: TestServer?, _ store: TestStore) {
        let jars = CookieJars(in: store.store, gate: world.gate, logger: Logger(label: "test"))
        (self.world, self.nginx, self.relay, self.store, self.jars) = (world, nginx, relay, store, jars)
        let credentials = CredentialStorage()
        loading = world.loading { configuration in
            [AuthenticationStage(credentials: credentials)]
                + jars.stages(
                    of: configuration.cookieJar, acceptPolicy: configuration.cookieAcceptPolicy,
                    handlesCookies: configuration.handlesCookies)
        }
    }

    /// Shuts the app down, and starts it again over the same store.
    func restarted() async -> CookieApp {
        await loading.shutdown()
        await jars.shutdown()
        return CookieApp(world, nginx, relay, store)
    }

    func close() async {
        await loading.shutdown()
        await jars.shutdown()
        store.close()
    }

    // MARK: Loads

    func session(_ change: (inout SessionConfiguration) throws -> Void = { _ in }) throws -> SecureSession {
        loading.makeSession(try world.configuration(change))
    }

    func load(
        _ path: String, by session: SecureSession, authorization: String? = nil,
        _ change: (inout LoadOptions) -> Void = { _ in }
    ) async throws {
        var request = try LoadRequest.get("https://127.0.0.1:\(nginx.port)\(path)")
        var options = LoadOptions()
        change(&options)
        request.options = options
        request.headerFields[.authorization] = authorization
        _ = try await session.data(for: request)
    }

    // MARK: The server

    /// The `Cookie` field of each request, once there are so many.
    func cookies(of count: Int) async throws -> [String] {
        guard try await eventually({ nginx.log.count >= count }) else {
            throw Unexpected("The log has \(nginx.log.count) lines instead of \(count).")
        }
        return nginx.log.map { String($0.split(separator: "|", maxSplits: 1).last ?? "") }
    }

    private static func startNginx(_ identity: TestIdentity) async throws -> Nginx {
        let folder = try TemporaryDirectory()
        try folder.write(identity.pem, to: "site.pem")
        try folder.write(identity.keyPEM, to: "site.key")
        try folder.write("ann:{PLAIN}secret\n", to: "users")
        return try await Nginx.start(in: folder) { configuration(folder.path, $0) }
    }

    private static func configuration(_ path: String, _ port: UInt16) -> String {
        """
        log_format line '$uri|$http_cookie';
        server {
            listen 127.0.0.1:\(port) ssl;
            access_log \(path)/access.log line;
            ssl_certificate \(path)/site.pem;
            ssl_certificate_key \(path)/site.key;
            root \(path);
            location = /set {
                add_header Set-Cookie "session=1; Path=/";
                add_header Set-Cookie "kept=2; Path=/; Max-Age=3600; Secure; HttpOnly";
                add_header Set-Cookie "dir=3; Path=/dir";
                add_header Set-Cookie "refused=4; Path=/; Domain=com";
                return 200 "set";
            }
            location = /third { add_header Set-Cookie "third=1; SameSite=None; Secure; Path=/"; return 200; }
            location = /away { add_header Set-Cookie "away=4; Path=/"; return 302 https://localhost:\(port)/page; }
            location = /here { add_header Set-Cookie "here=5; Path=/"; return 302 /page; }
            location = /private {
                auth_basic "r";
                auth_basic_user_file \(path)/users;
                add_header Set-Cookie "leg=1; Path=/" always;
            }
            location / { return 200 "page"; }
        }
        """
    }
}
