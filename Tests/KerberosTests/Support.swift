import Foundation
import HTTPTypes
import SallyportBase
import SallyportCache
import SallyportConnecting
import SallyportCore
import SallyportHTTPAuthentication
import SallyportLoading
import SallyportSecureStore
import SallyportURLLoading
import TestSupport

@testable import SallyportKerberos

/// One instance's sessions with Kerberos, which reaches its KDCs through their tunnels. What the host says of Kerberos is
/// hostile, in every test.
struct KerberosApp {
    let credentials: CredentialStorage
    let loading: URLLoadingSystem
    let kerberos: Kerberos
    let clock: TestClock

    init(
        _ kdcs: [TestKDC], in store: SecureStore? = nil, gate: any AccessGate = OpenGate(),
        timeout: Duration? = nil, others: [String: [Endpoint]] = [:], names: (any NameLookup)? = nil,
        cache: SecureCache? = nil, limit: Int = Kerberos.limit
    ) throws {
        HostileHost.plant()
        let clock = TestClock()
        let connector = Connector(gate: gate)
        var servers = others
        for kdc in kdcs { servers[kdc.realm] = [try Endpoint("127.0.0.1:\(kdc.port)")] }
        let kerberos = Kerberos(
            in: store, tunnels: connector.tunnels,
            realms: RealmServers(names: names) { [servers] in servers[$0] ?? [] },
            timeout: timeout, limit: limit, clock: { clock.now })
        let credentials = CredentialStorage(in: store)
        loading = URLLoadingSystem(
            connector: connector,
            stages: { _ in
                let authentication = AuthenticationStage(
                    credentials: credentials, schemes: [NegotiateScheme(kerberos), DigestScheme(), BasicScheme()])
                return [authentication] + (cache.map { [CacheStage(cache: $0, gate: gate)] } ?? [])
            })
        (self.credentials, self.kerberos, self.clock) = (credentials, kerberos, clock)
    }

    func load(
        _ url: String, _ credential: Credential? = nil, of principal: Principal = .instance,
        in session: SecureSession? = nil
    ) async throws -> (status: Int, body: String) {
        var request = try LoadRequest.get(url)
        request.options.credential = credential
        request.options.principal = principal
        let answer = try await (session ?? loading.session).data(for: request)
        let (body, response) = (answer.body, answer.head)
        return (response.status.code, String(decoding: body, as: UTF8.self))
    }

    /// What a user asks a realm for, without any server of HTTP.
    func ticket(
        _ service: String, _ user: String, _ password: String?, of principal: Principal = .instance
    ) async throws -> Kerberos.ServiceTickets {
        let owner = TicketOwner(principal: principal, user: try KerberosUser(user))
        return try await kerberos.tickets(
            for: ServiceName(service: "HTTP", host: service), of: owner, password: password.map { Redacted($0) })
    }
}

/// The system's clock, and what a test adds to it.
final class TestClock: Sendable {
    private let added = Lock<Int64>(0)

    var now: Int64 { Int64(Date().timeIntervalSince1970) + added.withLock { $0 } }
    func advance(by seconds: Int64) { added.withLock { $0 += seconds } }
}

/// Misleading Kerberos settings of a host: an invalid file, and an unreachable KDC. Set once, for the process.
enum HostileHost {
    static func plant() { _ = planted }

    static let folder = try? TemporaryDirectory()
    /// Written where krb5 is asked to tell what it does.
    static var trace: String { folder?.file("trace") ?? "" }

    private static let planted: Bool = {
        guard let folder else { return false }
        let configuration = try? folder.write("[libdefaults\n default_realm = {{{\n", to: "krb5.conf")
        for (name, value) in [
            ("KRB5_CONFIG", configuration ?? ""), ("KRB5CCNAME", "FILE:\(folder.file("cache"))"),
            ("KRB5_KTNAME", "FILE:\(folder.file("keytab"))"), ("KRB5_CLIENT_KTNAME", "FILE:\(folder.file("client"))"),
            ("KRB5_TRACE", trace), ("KRB5_KDC_PROFILE", configuration ?? ""),
        ] { setenv(name, value, 1) }
        return true
    }()
}

extension Credential {
    static func ann(_ password: String = "secret") -> Credential {
        Credential(user: "ann@EXAMPLE.TEST", password: Redacted(password))
    }

    static func bob(_ password: String = "hunter") -> Credential {
        Credential(user: "bob@EXAMPLE.TEST", password: Redacted(password))
    }
}
