import Sallyport
import SallyportHTTPAuthentication
import TestSupport
import Testing

/// NTLM of an activated app: a server that only the relay reaches, and that verifies all there is to verify.
@Suite(.timeLimit(.minutes(2)))
struct NTLMTests {
    private static let name = "old.corp.example"
    private static let users = [(domain: "CORP", name: "ann", password: "påss 1"), ("CORP", "bob", "påss 2")]

    private struct IntranetApp {
        let server: NTLMAcceptor
        let sallyport: Sallyport
        let authority: TestAuthority
        /// Its gateway runs as long as it is there.
        let site: Site

        static func start(options: [String] = []) async throws -> IntranetApp {
            let (authority, site) = (try TestAuthority(name: "Corp CA"), try await Site.start())
            let server = try await NTLMAcceptor.start(
                users, identity: authority.server(names: [name]), options: ["--address", Intranet.address] + options)
            try await site.admin(
                "server", "add", "\(name):\(server.port)", "--app", Site.app, "--address", Intranet.address)
            let sallyport = try await Sallyport.open(
                store: site.folder.file("app"), protectedBy: .keyFile(site.folder.file("app.key")),
                application: .init(Site.app, version: Site.version))
            try await sallyport.authorization.activate(link: try await site.link())
            try await sallyport.authorize()
            return IntranetApp(server: server, sallyport: sallyport, authority: authority, site: site)
        }

        func session(allowingV1 allowsV1: Bool = false) throws -> SecureSession {
            var configuration = SessionConfiguration()
            configuration.trust = .only([try authority.der])
            configuration.allowsNTLMv1 = allowsV1
            return sallyport.makeSession(configuration)
        }

        func load(_ session: SecureSession, _ path: String, as user: Int) async throws -> String {
            let (domain, name, password) = NTLMTests.users[user]
            var request = try LoadRequest.get("https://\(NTLMTests.name):\(server.port)\(path)")
            request.options.credential = Credential(user: "\(domain)\\\(name)", password: Redacted(password))
            request.options.principal = Principal(name)
            return String(decoding: try await session.data(for: request).body, as: UTF8.self)
        }
    }

    @Test func theServersCertificateBehindTheRelayIsWhatTheProofIsBoundTo() async throws {
        let app = try await IntranetApp.start()
        let session = try app.session()
        for _ in 1...3 { #expect(try await app.load(session, "/page", as: 0) == "hello CORP\\ann") }
        let log = try await app.server.log(of: 5)
        #expect(log.map(\.status) == [401, 401, 200, 200, 200], "no leg more on a connection that stands")
        #expect(log[2].facts == ["mic", "bindings", "HTTP/\(Self.name)"])
        await app.sallyport.credentials.clear()
        _ = try await app.load(session, "/page", as: 0)
        #expect(Set(try await app.server.log(of: 8).filter { $0.status == 200 }.map(\.connection)).count == 2)
        await app.sallyport.shutdown()
    }

    /// Neither a stored answer nor a connection of one is ever the other's.
    @Test func twoUsersOfOneProcessStayApart() async throws {
        let app = try await IntranetApp.start()
        let session = try app.session()
        for _ in 1...3 {
            for (user, name) in ["ann", "bob"].enumerated() {
                #expect(try await app.load(session, "/kept", as: user) == "hello CORP\\\(name)")
            }
        }
        let log = try await app.server.log(of: 6)
        #expect(
            log.filter { $0.status == 200 }.map(\.user) == ["CORP\\ann", "CORP\\bob"], "the rest is stored, by user")
        #expect(try await app.load(session, "/page", as: 0) == "hello CORP\\ann")
        #expect(try await app.load(session, "/page", as: 1) == "hello CORP\\bob")
        let users = Dictionary(
            grouping: try await app.server.log(of: 8).filter { $0.status == 200 }, by: \.connection)
        #expect(users.count == 2 && users.values.allSatisfy { Set($0.map(\.user)).count == 1 })
        await app.sallyport.shutdown()
    }

    @Test func anOldServerIsAnsweredIfAppAndPolicyAllowIt() async throws {
        let app = try await IntranetApp.start(options: ["--old", "session"])
        try await app.site.admin("auth", "allow", "ntlmv1")
        try await app.sallyport.authorize()
        #expect(try await app.load(try app.session(allowingV1: true), "/page", as: 0) == "hello CORP\\ann")
        #expect(try await app.server.log(of: 3).last?.facts == ["v1"])
        #expect(try await app.load(try app.session(), "/page", as: 1) == "hello CORP\\bob")
        #expect(try await app.server.log(of: 6).last?.facts.contains("v1") == false, "another session does not")
        await app.sallyport.shutdown()
    }

    @Test func forbiddenMethodsAreNoLongerAnswered() async throws {
        let app = try await IntranetApp.start()
        let session = try app.session()
        #expect(try await app.load(session, "/page", as: 0) == "hello CORP\\ann")
        try await app.site.admin("auth", "forbid", "ntlm")
        try await app.sallyport.authorize()
        #expect(try await app.load(session, "/page", as: 0) == "who?")
        #expect(try await app.server.log(of: 4).last?.user == "-", "nor is the connection used that stands")
        await app.sallyport.shutdown()
    }

    /// The app alone cannot allow it: the policy has to list it.
    @Test func withoutThePolicyAnOldServerGetsNothingOlder() async throws {
        let app = try await IntranetApp.start(options: ["--old", "v1"])
        #expect(try await app.load(try app.session(allowingV1: true), "/page", as: 0) == "hello CORP\\ann")
        #expect(try await app.server.log(of: 3).last?.facts.contains("v1") == false)
        await app.sallyport.shutdown()
    }
}
