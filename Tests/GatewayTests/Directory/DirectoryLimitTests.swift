import SallyportCore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// A directory takes no more than the configuration of each app can carry: an app that cannot read its configuration
/// goes on with the last one, whatever an administrator has blocked or denied since.
@Suite(.timeLimit(.minutes(1))) struct DirectoryLimitTests {
    private static let app = "com.example.report"
    /// Each character takes six bytes in JSON.
    private static let longText = String(repeating: "\u{1}", count: Directory.Limits.configuration)
    /// 60,000 bytes, and 100,000 in JSON.
    private static let longInfo =
        "{\"a\":[" + Array(repeating: "\"\"", count: 20_000).joined(separator: ",") + "]}"
    private static let longName = Array(repeating: String(repeating: "a", count: 60), count: 3).joined(separator: ".")

    private static func policy(nesting depth: Int) -> String {
        String(repeating: "{\"a\":", count: depth - 1) + "{}" + String(repeating: "}", count: depth - 1)
    }

    /// Why a command is refused.
    private func refusal(of command: AdministrationCommand, _ data: GatewayData) async throws -> String {
        guard case .failure(let failure) = await data.perform(command) else {
            throw TestFailure("It was carried out.")
        }
        #expect(failure.name == "invalid")
        return failure.message
    }

    @Test func anAppIsToldOfAsManyClustersAsThereMayBe() async throws {
        let fixture = try await DataFixture()
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let clusters = (0..<Directory.Limits.clusters).map { "{name: c\($0), relays: [{server: 'r.example:443'}]}" }
        _ = await fixture.data.perform(
            .apply(
                yaml: "clusters: [\(clusters.joined(separator: ", "))]", prune: false, dryRun: false, confirmed: false))
        #expect(try await fixture.document(presented).clusters.count == ConfigurationDocument.Limits.clusters)
        let message = try await refusal(
            of: .setCluster(name: "other", relays: [.init(endpoint: "r.example:443")]), fixture.data)
        #expect(message.contains("\(Directory.Limits.clusters) clusters"))
    }

    @Test func aUserIsEntitledToAsManyAppsAsAConfigurationNames() throws {
        var directory = Directory()
        try directory.addUser("ann")
        let apps = (0...Directory.Limits.entitlements).map { "com.example.a\($0)" }
        for app in apps { try directory.addApplication(app, version: "1.0") }
        for app in apps.dropLast() { try directory.entitle("ann", to: app, version: "1.0") }
        let (before, last) = (directory, try #require(apps.last))
        let error = #expect(throws: GatewayError(.invalid, "")) {
            try directory.entitle("ann", to: last, version: "1.0")
        }
        #expect(error?.message.contains("\(Directory.Limits.entitlements) apps") == true && directory == before)
        // Data of an older version may have more; versions of what is there do not count.
        directory.users["ann"]?.entitlements[last] = ["1.0"]
        try directory.addApplication(apps[0], version: "2.0")
        try directory.entitle("ann", to: apps[0], version: "2.0")
        try directory.unentitle("ann", from: last, version: "1.0")
    }

    @Test func aPolicyIsNestedNoDeeperThanAnAppReads() async throws {
        let fixture = try await DataFixture()
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let deepest = ConfigurationDocument.Limits.policyDepth
        try await fixture.perform(.setPolicy(entitlement: Self.app, json: Self.policy(nesting: deepest)))
        let policy = try await fixture.document(presented).policy
        #expect(policy != .object([:]))
        let message = try await refusal(
            of: .setPolicy(entitlement: Self.app, json: Self.policy(nesting: deepest + 1)), fixture.data)
        #expect(message.contains("at most \(deepest) levels"))
        #expect(try await fixture.document(presented).policy == policy)
    }

    @Test func textsThatAnAppWouldNotReadAreRefused() async throws {
        let fixture = try await DataFixture()
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        try await fixture.perform(.configureApplication(entitlement: Self.app, text: Self.longText))
        #expect(try await fixture.document(presented).application.config == Self.longText)
        let message = try await refusal(of: .setExtraInfo(entitlement: Self.app, json: Self.longInfo), fixture.data)
        #expect(message.contains("app \(Self.app)") && message.contains("\(ConfigurationDocument.Limits.document)"))
        #expect(try await fixture.document(presented).application.extraInfo == nil)
    }

    @Test(arguments: [false, true]) func aFileThatNoAppCouldReadIsRefused(_ dryRun: Bool) async throws {
        let fixture = try await DataFixture()
        let routes = (0..<2400).map { "{domain: \(Self.longName).d\($0).example, route: deny}" }
        let message = try await refusal(
            of: .apply(
                yaml: "routes: [\(routes.joined(separator: ", "))]", prune: false, dryRun: dryRun, confirmed: false),
            fixture.data)
        #expect(message.contains("every app") && message.contains("\(ConfigurationDocument.Limits.document)"))
        #expect(await fixture.data.directory.domains.isEmpty)
    }

    @Test func theServersOfOneAppCountForThatAppAlone() throws {
        let old = try DirectoryTests.sample()
        var new = old
        try new.addApplication("com.example.other", version: "1.0")
        for (number, app) in [Self.app, "com.example.other"].enumerated() {
            new.servers += (0..<1300).map {
                Directory.Server(endpoint: "\(Self.longName).s\(number)x\($0).example:443", application: app)
            }
        }
        try new.checkLengths(after: old, authority: 500)
        for number in 0..<new.servers.count { new.servers[number].application = nil }
        let error = #expect(throws: GatewayError(.invalid, "")) { try new.checkLengths(after: old, authority: 500) }
        #expect(error?.message.contains("every app") == true)
    }

    @Test func aDirectoryThatHasTooMuchCanBeMadeSmaller() throws {
        var old = try DirectoryTests.sample()
        old.applications[Self.app]?.configuration = Self.longText
        old.applications[Self.app]?.extraInfo = Self.longInfo
        func change(_ edit: (inout Directory) throws -> Void) throws {
            var new = old
            try edit(&new)
            try new.checkLengths(after: old, authority: 500)
        }
        // It has still too much after each of these.
        try change { try $0.configure(Self.app, text: String(Self.longText.dropLast())) }
        try change { try $0.removeServer("intranet.corp.example:443") }
        try change { try $0.setRoute("corp.example", .init(route: .deny)) }
        try change { try $0.addUser("bob") }
        // Others are not concerned.
        try change { try $0.addApplication("com.example.other", version: "1.0") }
        #expect(throws: GatewayError(.invalid, "")) {
            try change { try $0.addServer(.init(endpoint: "new.example:443")) }
        }
        #expect(throws: GatewayError(.invalid, "")) {
            try change { try $0.setPolicy(Self.app, json: "{\"level\":3,\"more\":1}") }
        }
    }

    /// That each part of the directory is reckoned, `ConfigurationGrowthTests` shows.
    @Test func whatTheDirectoryDoesNotSayHasRoom() async throws {
        let fixture = try await DataFixture()
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let yaml = try DirectoryTests.sample().declaration.yaml()
        _ = await fixture.data.perform(.apply(yaml: yaml, prune: false, dryRun: false, confirmed: true))
        let text = try await fixture.data.configuration(for: presented, version: nil)
        let length = try JWS(Array(text.utf8), type: ConfigurationDocument.type).payload.count
        let directory = await fixture.data.directory
        #expect(!directory.servers.isEmpty)
        let authority = await fixture.data.authorities.all.map(\.count).max() ?? 0
        let reckoned = try ConfigurationLengths(directory, authority: authority)[Self.app]
        #expect(length < reckoned && reckoned < length + (96 << 10))
    }
}
