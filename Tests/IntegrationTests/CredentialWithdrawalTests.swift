import SallyportBase
import SallyportCore
import TestSupport
import Testing

@testable import Sallyport
@testable import SallyportHTTPAuthentication

/// What a lock and a wipe drop from the app's memory besides the store.
@Suite struct CredentialWithdrawalTests {
    /// What an administrator does, and the result code that follows.
    enum Order: CaseIterable {
        case block, lock, wipe, otherVersion, noVersion

        var code: ResultCode {
            switch self {
            case .block: .blocked
            case .lock: .remoteLockout
            case .wipe: .wiped
            case .otherVersion: .appVersionNotEntitled
            case .noVersion: .appDenied
            }
        }

        func give(at site: Site, to instance: String) async throws {
            switch self {
            case .block: try await site.admin("block", instance)
            case .lock: try await site.admin("lock", instance)
            case .wipe: try await site.withdraw("wipe", instance)
            case .otherVersion:
                try await site.admin("app", "add", Site.app, "2.0.0.0")
                try await site.admin("entitle", Site.user, Site.app, "2.0.0.0")
                try await site.admin("unentitle", Site.user, Site.app, Site.version, "--yes")
            case .noVersion: try await site.admin("unentitle", Site.user, Site.app, Site.version, "--yes")
            }
        }
    }

    @Test(arguments: Order.allCases)
    func theAppsCredentialsGoWithEveryCodeButABlocks(_ order: Order) async throws {
        let site = try await Site.start()
        let link = try await site.link()
        let sallyport = try await Sallyport.open(
            store: site.folder.file("app"), protectedBy: .keyFile(site.folder.file("app.key")),
            application: .init(Site.app, version: Site.version))
        try await sallyport.authorization.activate(link: link)
        try await sallyport.authorize()
        let space = ProtectionSpace(origin: "https://a.example:443", realm: nil, method: .basic)
        let credential = Credential(user: "ann", password: Redacted("secret"))
        await sallyport.credentials.setDefault(credential, for: space)
        let instance = try #require(try await site.instances().first).instance
        try await order.give(at: site, to: instance)
        let error = await #expect(throws: AuthorizationError.self) { try await sallyport.authorize() }
        #expect(error?.result == order.code)
        let found = await sallyport.credentials.credential(for: space, of: .instance)
        #expect((found == credential) == (order == .block))
        await sallyport.shutdown()
    }
}
