import Foundation
import Sallyport
import SallyportHTTPAuthentication
import TestSupport
import Testing

@testable import SallyportCookies

/// Cookies of an activated app: through the relay, over restarts, and when the app is withdrawn.
@Suite struct CookieTests {
    private struct Listed: Decodable {
        var name: String
        var value: String?
        var domain: String
    }

    @Test func persistentCookiesOutliveTheProgramAndItsEnd() async throws {
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        let store = try await site.activatedStore()
        let ca = intranet.authorityFile
        #expect(try await site.fetch("\(intranet.url)/cookies", store, "--ca", ca).status == 0)
        #expect(try await site.fetch("\(intranet.url)/seen", store, "--ca", ca).output == "kept=PLANTED-COOKIE")
        let list = try await sallyport("cookies", "list", "--store", store, "--json")
        let listed = try list.json([Listed].self)
        #expect(listed.map(\.name) == ["kept"] && listed.map(\.domain) == [Intranet.name] && listed[0].value == nil)
        #expect(!list.output.contains("PLANTED"))
        for name in try FileManager.default.contentsOfDirectory(atPath: store) {
            let data = try Data(contentsOf: URL(fileURLWithPath: "\(store)/\(name)"))
            #expect(data.range(of: Data("PLANTED-COOKIE".utf8)) == nil, "\(name)")
        }
        let without = try await site.fetch("\(intranet.url)/seen", store, "--ca", ca, "--no-cookies")
        #expect(without.status == 0 && without.output.isEmpty)
        let other = try await site.fetch("\(intranet.url)/seen", store, "--ca", ca, "--jar", "x")
        #expect(other.status == 0 && other.output.isEmpty)
        let removed = try await sallyport("cookies", "remove", "--domain", "corp.example", "--store", store)
        #expect(removed.status == 0)
        #expect(try await site.fetch("\(intranet.url)/seen", store, "--ca", ca).output.isEmpty)
    }

    /// A cookie is durable within 200 ms: `kill -9` takes nothing away.
    @Test func aKilledProgramKeepsItsCookies() async throws {
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        let store = try await site.activatedStore()
        let target = site.folder.file("slow")
        let child = try ChildProcess(
            Programs.built("sallyport"),
            ["fetch", "\(intranet.url)/slow", "--store", store, "--ca", intranet.authorityFile])
        let hasBegun = try await eventually(within: .seconds(30)) { !child.output.isEmpty || !child.isRunning }
        #expect(hasBegun && child.isRunning, "\(child.error)")
        try await Task.sleep(for: .milliseconds(200))
        let listed = try await sallyport("cookies", "list", "--store", store, "--json").json([Listed].self)
        #expect(listed.map(\.name) == ["slow"], "seen beside the running program")
        let busy = try await sallyport("cookies", "remove", "--all", "--store", store)
        #expect(busy.status == 75)
        child.signal(SIGKILL)
        _ = try await child.outcome()
        #expect(!FileManager.default.fileExists(atPath: target))
        let kept = try await sallyport("cookies", "export", "--store", store)
        #expect(kept.output.contains("\tslow\t1\n"))
    }

    /// Lock and wipe drop what is in memory; a block keeps it.
    @Test(arguments: [("lock", false), ("wipe", false), ("block", true)])
    func aWithdrawalClosesTheJar(order: String, isKept: Bool) async throws {
        let site = try await Site.start()
        let sallyport = try await Sallyport.open(
            store: site.folder.file("app"), protectedBy: .keyFile(site.folder.file("app.key")),
            application: .init(Site.app, version: Site.version))
        await #expect(throws: CookieError.self) { try await sallyport.cookies.list() }
        try await sallyport.authorization.activate(link: try await site.link())
        try await sallyport.authorize()
        let cookie = try Cookie(name: "session", value: "PLANTED", domain: "a.example")
        try await sallyport.cookies.set(cookie)
        try await sallyport.cookies(named: "x").set(cookie)
        let instance = try #require(try await site.instances().first).instance
        try await site.withdraw(order, instance)
        await #expect(throws: (any Error).self) { try await sallyport.authorize() }
        for jar in [sallyport.cookies, try await sallyport.cookies(named: "x")] {
            #expect(jar.state.withLock { $0.table.count } == (isKept ? 1 : 0))
            await #expect(throws: CookieError.self) { try await jar.list() }
        }
        await sallyport.shutdown()
    }

    /// `clear` removes a principal's user at a server, and the cookies that it would send there.
    @Test func clearedCredentialsTakeTheirCookiesAlong() async throws {
        let site = try await Site.start()
        let sallyport = try await Sallyport.open(
            store: site.folder.file("app"), protectedBy: .keyFile(site.folder.file("app.key")),
            application: .init(Site.app, version: Site.version))
        try await sallyport.authorization.activate(link: try await site.link())
        try await sallyport.authorize()
        let space = ProtectionSpace(origin: "https://a.example:443", realm: "r", method: .basic)
        let ann = Principal("ann")
        await sallyport.credentials.setDefault(
            Credential(user: "ann", password: Redacted("secret")), for: space, of: ann)
        for principal in [ann, .instance] {
            for domain in ["a.example", "b.example"] {
                try await sallyport.cookies.set(
                    Cookie(name: "id", value: "1", domain: domain, expires: .distantFuture), of: principal)
                try await sallyport.cookies(named: "x").set(
                    Cookie(name: "id", value: "1", domain: domain), of: principal)
            }
        }
        await sallyport.credentials.clear(for: .basic)
        for jar in [sallyport.cookies, try await sallyport.cookies(named: "x")] {
            #expect(try await jar.list(of: ann).map(\.domain) == ["b.example"])
            #expect(try await jar.list().count == 2)
        }
        await sallyport.shutdown()
    }
}
