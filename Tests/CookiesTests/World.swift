import Foundation
import HTTPTypes
import Logging
import SallyportCore
import SallyportHTTPAuthentication
import SallyportLoading
import SallyportURLLoading
import TestSupport

@testable import SallyportCookies
@testable import SallyportSecureStore

enum Way: String, Sendable, CaseIterable {
    case direct, relayed
}

/// An nginx that sets and logs cookies, reached directly or through a relay that ends TLS of its own in between.
final class World: Sendable {
    let nginx: Nginx
    let relay: TestServer
    let authority: TestAuthority
    let store: SecureStore
    let jars: CookieJars
    let loading: URLLoadingSystem
    let logger = Logger(label: "test")
    private let gate: RelayGate

    init(_ way: Way) async throws {
        let folder = try TemporaryDirectory()
        let authority = try TestAuthority(name: "Site")
        let identity = try authority.server(names: ["localhost"], addresses: [.v4(0x7f00_0001)])
        try folder.write(identity.pem, to: "site.pem")
        try folder.write(identity.keyPEM, to: "site.key")
        try folder.write("ann:{PLAIN}secret\n", to: "users")
        self.authority = authority
        nginx = try await Nginx.start(in: folder) { Self.configuration(folder.path, $0) }
        let gateway = try TestAuthority(name: "Gateway")
        let tls = try TestTLS(gateway.server(names: ["localhost"]), requiring: gateway)
        let relay = try TestServer { TestRelay.serve($0, tls) }
        self.relay = relay
        let access = try RelayAccess(
            cluster: "main", relays: [.init(Endpoint("localhost:\(relay.port)"), priority: 1)],
            authorities: [gateway.der], identity: gateway.client().clientIdentity)
        gate = RelayGate(way == .relayed ? access : nil)
        store = try await SecureStore.open(at: folder.file("store"), protectedBy: .keyFile(folder.file("key")))
        jars = CookieJars(in: store, gate: gate, logger: logger)
        loading = Self.loading(gate, jars)
    }

    /// The same server, store and way, with other jars: as after a restart.
    init(_ other: World, _ jars: CookieJars) throws {
        (nginx, relay, authority, store, gate) = (other.nginx, other.relay, other.authority, other.store, other.gate)
        self.jars = jars
        loading = Self.loading(gate, jars)
    }

    private static func loading(_ gate: RelayGate, _ jars: CookieJars) -> URLLoadingSystem {
        let credentials = CredentialStorage()
        return URLLoadingSystem(
            gate: gate,
            stages: { configuration in
                [AuthenticationStage(credentials: credentials)]
                    + jars.stages(
                        of: configuration.cookieJar, acceptPolicy: configuration.cookieAcceptPolicy,
                        handlesCookies: configuration.handlesCookies)
            })
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

    func session(_ change: (inout SessionConfiguration) throws -> Void = { _ in }) throws -> SecureSession {
        var configuration = SessionConfiguration()
        configuration.trust = try .only([authority.der])
        try change(&configuration)
        return loading.makeSession(configuration)
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

    /// The `Cookie` field of each request, once there are so many.
    func cookies(of count: Int) async throws -> [String] {
        guard try await eventually({ nginx.log.count >= count }) else {
            throw Unexpected("The log has \(nginx.log.count) lines instead of \(count).")
        }
        return nginx.log.map { String($0.split(separator: "|", maxSplits: 1).last ?? "") }
    }

    func close() async {
        await loading.shutdown()
        await jars.shutdown()
        store.close()
    }
}

/// Lets everything through: to a relay, where there is one.
final class RelayGate: AccessGate {
    private let relay: RelayAccess?

    init(_ relay: RelayAccess?) { self.relay = relay }

    func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
        let route: Route = relay == nil ? .direct : .relay
        return ServerAccess(decision: RouteDecision(endpoint: endpoint, route: route, rule: .default), relay: relay)
    }

    func checkAuthorized() throws(AccessDenied) {}

    func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
        AccessObservation()
    }
}
