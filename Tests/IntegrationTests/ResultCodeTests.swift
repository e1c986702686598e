import Foundation
import Sallyport
import SallyportCore
import TestSupport
import Testing

/// Result codes of activation and authorization that take a real gateway and the program.
@Suite(.timeLimit(.minutes(2))) struct ResultCodeTests {
    @Test func anAppThatNeedsItsGatewayAndCannotReachItHasItsCode() async throws {
        let site = try await Site.start()
        let store = try await site.activatedStore()
        let (backup, copy) = (site.folder.file("backup"), site.folder.file("copy"))
        let key = ["--key-file", "\(store)/key"]
        for arguments in [["backup", backup, "--store", store], ["restore", backup, "--store", copy]] {
            let outcome = try await ChildProcess(Programs.built("sallyport"), ["store"] + arguments + key).outcome()
            try #require(outcome.status == 0, "\(outcome.error)")
        }
        try await site.stopGateway()
        let url = "http://a.corp.example/"
        // Its lease bridges the absence; the copy may be older than a withdrawal.
        #expect(try await site.fetch(url, store).status == 77)
        let outcome = try await ChildProcess(
            Programs.built("sallyport"), ["fetch", url, "--store", copy, "--json"] + key
        ).outcome()
        #expect(outcome.status == 69, "\(outcome.error)")
        let failure = try outcome.failure()
        #expect(failure.code == -103 && failure.name == "pushConnectionTimeout", "\(outcome.error)")
    }

    @Test(arguments: [("idle", -300, "idleLockout"), ("password", -304, "passwordChangeRequired")])
    func aLockWithAReasonHasItsCodeAndEndsLikeAnother(reason: String, number: Int, name: String) async throws {
        try await RunningApp.run { app in
            let authorization = app.sallyport.authorization
            let code = ResultCode(rawValue: number)
            var events = authorization.events.makeAsyncIterator()
            let instance = try #require(try await app.site.instances().first).instance
            try await app.site.admin("lock", instance, "--reason", reason)
            let event = try #require(await events.next())
            #expect(event.kind == .notAuthorized && event.code == code && code.name == name)
            #expect(authorization.state == .locked(code))
            #expect(throws: AccessDenied(.withdrawn, code: code)) { try authorization.checkAuthorized() }
            #expect(try await app.site.instances().map(\.status) == ["locked"])
            try await app.site.admin("unlock", instance)
            #expect(await events.next()?.kind == .authorized)
            #expect(authorization.state == .authorized)
        }
    }

    @Test func aLinkForAnotherAppHasItsCodeAndActivatesNothing() async throws {
        let site = try await Site.start()
        try await site.admin("app", "add", "com.example.other", "1.0")
        try await site.admin("entitle", Site.user, "com.example.other", "1.0")
        let link = try await site.link(app: "com.example.other")
        let sallyport = try await Sallyport.open(
            store: site.folder.file("app"), protectedBy: .keyFile(site.folder.file("app.key")),
            application: .init(Site.app, version: Site.version))
        let error = await #expect(throws: AuthorizationError.self) {
            try await sallyport.authorization.activate(link: link)
        }
        #expect(error?.code == .wrongApplication && error?.result == .appIntegrityFailed)
        #expect(error?.result.rawValue == -606 && sallyport.authorization.state == .notAuthorized)
        // Its own link activates the same store.
        try await sallyport.authorization.activate(link: site.link())
        #expect(sallyport.authorization.state == .authorized)
        await sallyport.shutdown()
        let other = await #expect(throws: AuthorizationError.self) {
            _ = try await Sallyport.open(
                store: site.folder.file("app"), protectedBy: .keyFile(site.folder.file("app.key")),
                application: .init("com.example.other", version: "1.0"))
        }
        #expect(other?.code == .wrongApplication && other?.result == .appIntegrityFailed)
        // The link was not used up: its own app still activates with it.
        let own = try await Sallyport.open(
            store: site.folder.file("other"), protectedBy: .keyFile(site.folder.file("other.key")),
            application: .init("com.example.other", version: "1.0"))
        try await own.authorization.activate(link: link)
        await own.shutdown()
    }
}
