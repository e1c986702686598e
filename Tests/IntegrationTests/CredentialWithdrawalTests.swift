import SallyportCore
import TestSupport
import Testing

@testable import Sallyport
@testable import SallyportHTTPAuthentication

/// What a lock and a wipe drop from the app's memory besides the store.
@Suite struct CredentialWithdrawalTests {
    @Test(arguments: [("lock", false), ("wipe", false), ("block", true)])
    func theAppsCredentialsGoWithALockAndAWipe(order: String, areKept: Bool) async throws {
        let site = try await Site.start()
        let link = try await site.link()
        let sallyport = try await Sallyport.open(
            store: site.folder.file("app"), protectedBy: .keyFile(site.folder.file("app.key")),
            application: .init(Site.app, version: Site.version))
        try await sallyport.authorization.activate(link: link)
        try await sallyport.authorize()
        let space = ProtectionSpace(origin: "https://a.example:443", realm: nil, method: .basic)
        let credential = Credential(user: "ann", password: Redacted("secret"))
        sallyport.credentials.setDefault(credential, for: space)
        let instance = try #require(try await site.instances().first).instance
        try await site.admin(order, instance)
        await #expect(throws: (any Error).self) { try await sallyport.authorize() }
        let found = sallyport.credentials.credential(for: space, of: .instance)
        #expect((found == credential) == areKept)
        await sallyport.shutdown()
    }
}
