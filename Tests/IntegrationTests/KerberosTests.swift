#if Kerberos
import Foundation
import Sallyport
import SallyportHTTPAuthentication
import TestSupport
import Testing

@testable import SallyportKerberos

/// Kerberos of an activated app: a KDC and a web server that only the relay reaches.
@Suite(.timeLimit(.minutes(2)))
struct KerberosTests {
    private static let kdcName = "kdc.corp.example"
    private static let webName = "web.corp.example"
    private static let password = "PLANTED-PASSWORD"

    /// What stands inside: both on loopback addresses of their own, which no name outside leads to.
    private struct Inside {
        let kdc: TestKDC
        let apache: Apache

        static func start() async throws -> Inside {
            let kdc = try await TestKDC.start(realm: "CORP.EXAMPLE", address: "127.0.0.4")
            try await kdc.addUser("ann", password: password)
            let keytab = try await kdc.addService("HTTP/\(webName)")
            return Inside(
                kdc: kdc, apache: try await Apache.withNegotiate(keytab: keytab, of: kdc, address: Intranet.address))
        }

        /// With a gateway that lists both, and the realm.
        static func startListed() async throws -> (Inside, Site) {
            let (inside, site) = (try await start(), try await Site.start())
            for (name, port, address) in [
                (webName, inside.apache.port, Intranet.address), (kdcName, inside.kdc.port, "127.0.0.4"),
            ] { try await site.admin("server", "add", "\(name):\(port)", "--address", address) }
            try await site.admin("realm", "add", "CORP.EXAMPLE", inside.kdcServer)
            return (inside, site)
        }

        var url: String { apache.url(host: webName) }
        var kdcServer: String { "\(kdcName):\(kdc.port)" }
    }

    private struct Warning: Decodable { var warning: String }
    private struct Realm: Decodable, Equatable {
        var realm: String
        var kdcs: [String]
    }
    private struct Listed: Decodable {
        var user: String
        var service: String?
    }

    private func load(_ inside: Inside, _ sallyport: Sallyport, password: String? = Self.password) async throws -> Int {
        var request = try LoadRequest.get(inside.url)
        request.options.credential = password.map {
            Credential(user: "ann@CORP.EXAMPLE", password: Redacted($0))
        }
        return try await sallyport.session.data(for: request).head.status.code
    }

    private func open(_ site: Site) async throws -> Sallyport {
        try await Sallyport.open(
            store: site.folder.file("app"), protectedBy: .keyFile(site.folder.file("app.key")),
            application: .init(Site.app, version: Site.version))
    }

    @Test func aRealmBehindTheRelayServesAnAppAndItsRestarts() async throws {
        let (inside, site) = (try await Inside.start(), try await Site.start())
        try await site.admin(
            "server", "add", "\(Self.webName):\(inside.apache.port)", "--app", Site.app, "--address", Intranet.address)
        let added = try await site.admin("realm", "add", "CORP.EXAMPLE", inside.kdcServer, "--json")
        #expect(try added.json(Warning.self).warning.contains(inside.kdcServer), "nobody reaches it yet")
        #expect(
            try await site.admin("realm", "list", "--json").json([Realm].self)
                == [Realm(realm: "CORP.EXAMPLE", kdcs: [inside.kdcServer])])
        var sallyport = try await open(site)
        try await sallyport.authorization.activate(link: try await site.link())
        try await sallyport.authorize()
        #expect(sallyport.authorization.configuration.realms == ["CORP.EXAMPLE"])

        // A KDC that is not listed is refused before anything is sent.
        do {
            _ = try await load(inside, sallyport)
            Issue.record("A ticket of a KDC that is not listed")
        } catch let error as LoadError {
            #expect(error.code == .kerberosFailed)
            let reason = (error.underlying as? KerberosError)?.underlying as? LoadError
            #expect(reason?.code == .refusedByPolicy)
        }
        #expect(inside.kdc.count("AS_REQ") == 0)

        try await site.admin("server", "add", inside.kdcServer, "--address", "127.0.0.4")
        let again = try await site.admin("realm", "list")
        #expect(again.output.contains("CORP.EXAMPLE \(inside.kdcServer)"))
        try await sallyport.authorize()
        for _ in 1...3 { #expect(try await load(inside, sallyport) == 200, "\(inside.apache.errors)") }
        #expect(inside.kdc.count("AS_REQ") == 1 && inside.kdc.count("TGS_REQ") == 1)
        await sallyport.shutdown()

        sallyport = try await open(site)
        try await sallyport.authorize()
        #expect(try await load(inside, sallyport, password: nil) == 200)
        #expect(inside.kdc.count("AS_REQ") == 1 && inside.kdc.count("TGS_REQ") == 1)
        await sallyport.shutdown()
        try await theProgramListsAndClears(site, inside)
    }

    private func theProgramListsAndClears(_ site: Site, _ inside: Inside) async throws {
        let options = ["--store", site.folder.file("app"), "--key-file", site.folder.file("app.key"), "--json"]
        let program = Programs.built("sallyport")
        let list = try await ChildProcess(program, ["tickets", "list"] + options).outcome()
        let listed = try list.json([Listed].self)
        #expect(listed.map(\.service) == [nil, "HTTP/\(Self.webName)"])
        #expect(listed.allSatisfy { $0.user == "ann@CORP.EXAMPLE" })
        #expect(try await ChildProcess(program, ["tickets", "clear"] + options).outcome().status == 0)
        let after = try await ChildProcess(program, ["tickets", "list"] + options).outcome()
        #expect(try after.json([Listed].self).isEmpty)
        try await theProgramFetches(site, inside, Array(options.dropLast()))
        for name in try FileManager.default.contentsOfDirectory(atPath: site.folder.file("app")) {
            let bytes = try Data(contentsOf: URL(filePath: site.folder.file("app/\(name)")))
            #expect(bytes.range(of: Data(Self.password.utf8)) == nil, "\(name)")
            #expect(bytes.range(of: Data("ann@CORP.EXAMPLE".utf8)) == nil, "\(name)")
        }
    }

    private func theProgramFetches(_ site: Site, _ inside: Inside, _ store: [String]) async throws {
        let program = Programs.built("sallyport")
        let file = try site.folder.write("\(Self.password)\nnot this\n", to: "password")
        let user = ["--user", "ann@CORP.EXAMPLE", "--password-file", file]
        let url = inside.apache.url("/vault/page?program", host: Self.webName)
        let basic = try await ChildProcess(program, ["fetch", url, "--fail", "--auth", "basic"] + user + store)
            .outcome()
        #expect(basic.status == 22, "no other method is answered: \(basic)")
        let wrong = try site.folder.write("wrong\n", to: "wrong")
        let refused = try await ChildProcess(
            program, ["fetch", url, "--fail", "--user", "ann@CORP.EXAMPLE", "--password-file", wrong] + store
        ).outcome()
        #expect(refused.status == 22 && !refused.error.contains("wrong"), "\(refused)")
        let count = inside.kdc.count("AS_REQ")
        let fetched = try await ChildProcess(program, ["fetch", url, "--auth", "negotiate"] + user + store).outcome()
        #expect(fetched.status == 0 && fetched.output == "inside", "\(fetched)")
        #expect(inside.kdc.count("AS_REQ") == count + 1)
        // From the tickets that were kept.
        let again = try await ChildProcess(program, ["fetch", url + "2"] + store).outcome()
        #expect(again.status == 0 && again.output == "inside", "\(again)")
        #expect(inside.kdc.count("AS_REQ") == count + 1)
        // The server has accepted ann in the name of the instance.
        let other = try await ChildProcess(
            program, ["fetch", url + "3", "--user", "bob@CORP.EXAMPLE", "--password-file", wrong] + store
        ).outcome()
        let isOther = other.error.contains("otherPrincipal at request: The principal is another user")
        #expect(other.status == 76 && isOther, "\(other)")
        let bob = ["--principal", "bob", "--user", "bob@CORP.EXAMPLE", "--password-file", wrong]
        let apart = try await ChildProcess(program, ["fetch", url + "3", "--fail"] + bob + store).outcome()
        #expect(apart.status == 22, "as another principal he is asked for his own password: \(apart)")
    }

    /// A lock closes the tickets, and takes them out of memory; the store keeps them.
    @Test(arguments: [("lock", true), ("wipe", false)])
    func aWithdrawalClosesTheTickets(order: String, isKept: Bool) async throws {
        let (inside, site) = try await Inside.startListed()
        let sallyport = try await open(site)
        await #expect(throws: KerberosError(.notAuthorized, "")) { try await sallyport.kerberos.tickets() }
        try await sallyport.authorization.activate(link: try await site.link())
        try await sallyport.authorize()
        #expect(try await load(inside, sallyport) == 200)
        let instance = try #require(try await site.instances().first).instance
        try await site.withdraw(order, instance)
        await #expect(throws: (any Error).self) { try await sallyport.authorize() }
        await #expect(throws: KerberosError(.withdrawn, "")) { try await sallyport.kerberos.tickets() }
        await #expect(throws: LoadError(.withdrawn, "")) { try await load(inside, sallyport) }
        if isKept {
            try await site.admin("unlock", instance)
            try await sallyport.authorize()
            #expect(try await sallyport.kerberos.tickets().count == 2)
            #expect(inside.kdc.count("AS_REQ") == 1)
        }
        await sallyport.shutdown()
    }

    @Test func theExampleSpeaksByItsKeytab() async throws {
        let (inside, site) = try await Inside.startListed()
        let keytab = try await inside.kdc.addService("report/host.corp.example")
        let store = try await site.activatedStore()
        let told = try await ChildProcess(
            Programs.built("KeytabService"), [store, keytab, inside.apache.url("/vault/", host: Self.webName)]
        ).outcome()
        let lines = told.output.split(separator: "\n")
        // There is no index page: the server says so only to the authenticated user.
        #expect(lines.first == "as report/host.corp.example@CORP.EXAMPLE", "\(told)")
        let codes = lines.dropFirst().map { $0.prefix(3) }
        #expect(codes.count == 3 && codes.allSatisfy { $0 != "401" && $0.hasPrefix("40") }, "\(told)")
        let log = inside.apache.log
        #expect(log.first?.hasPrefix("401") == true && log.count == 4, "one question: \(log)")
        #expect(log.dropFirst().allSatisfy { $0.contains(" report/host.corp.example@CORP.EXAMPLE ") }, "\(log)")
    }

    @Test func clearingCredentialsClearsTickets() async throws {
        let (inside, site) = try await Inside.startListed()
        let sallyport = try await open(site)
        try await sallyport.authorization.activate(link: try await site.link())
        try await sallyport.authorize()
        #expect(try await load(inside, sallyport) == 200)
        await sallyport.credentials.clear(for: .basic)
        #expect(try await sallyport.kerberos.tickets().count == 2)
        await sallyport.credentials.clear(for: .negotiate)
        #expect(try await sallyport.kerberos.tickets().isEmpty)
        #expect(try await load(inside, sallyport, password: nil) == 401)
        #expect(try await load(inside, sallyport) == 200)
        let keytab = try await inside.kdc.addService("report/host.corp.example")
        let report = Principal("report")
        let service = try await sallyport.kerberos.useKeytab(at: keytab, of: report)
        try await sallyport.kerberosAllowDelegation(true)
        #expect(await sallyport.kerberos.allowsDelegation)
        #expect(try await sallyport.kerberos.tickets().isEmpty)
        #expect(try await sallyport.kerberos.usersAtHand(of: report) == [service], "set by the app for good")
        await sallyport.credentials.clear(for: .negotiate)
        #expect(try await sallyport.kerberos.usersAtHand(of: report).isEmpty)
        // What the administrator forbids is not said, nor is a KDC asked for it.
        let asked = inside.kdc.count("AS_REQ")
        try await site.admin("auth", "forbid", "negotiate")
        try await sallyport.authorize()
        #expect(try await load(inside, sallyport) == 401)
        #expect(inside.kdc.count("AS_REQ") == asked)
        try await site.admin("auth", "allow", "negotiate")
        try await sallyport.authorize()
        #expect(try await load(inside, sallyport) == 200)
        await sallyport.shutdown()
    }
}
#endif
