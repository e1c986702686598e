import Foundation
import SallyportBase
import SallyportWire
import Testing

@testable import SallyportGateway

/// What an administrator sees of access keys, and how they are revoked.
@Suite struct AccessKeyTests {
    private static func keys(
        _ fixture: DataFixture, of user: String? = nil
    ) async throws -> [AdministrationReply.AccessKeyEntry] {
        let reply = await fixture.data.perform(.listKeys(user: user))
        guard case .accessKeys(let keys) = reply else { throw TestFailure("\(reply)") }
        return keys
    }

    @Test func keysAreListedWithTheirStateAndNeverTheKey() async throws {
        let fixture = try await DataFixture()
        let expired = try await fixture.link()
        fixture.advance(24 * 3600)
        let used = try await fixture.link()
        let presented = try await fixture.enroll(used, DataFixture.request())
        fixture.advance(60)
        let unused = try await fixture.link()
        let keys = try await Self.keys(fixture)
        #expect(keys.map(\.state) == ["expired", "used", "unused"])
        #expect(keys.map(\.instance) == [nil, presented.name.instance.description, nil])
        #expect(keys.allSatisfy { $0.user == "ann" && $0.entitlement == "com.example.report" })
        #expect(keys.allSatisfy { $0.expires.timeIntervalSince($0.issued) == 24 * 3600 })
        #expect(Set(keys.map(\.id)).count == 3)
        let text = String(decoding: try JSONEncoder().encode(AdministrationReply.accessKeys(keys)), as: UTF8.self)
        for link in [expired, used, unused] { #expect(!text.contains(link.accessKey.reveal())) }
        #expect(try await Self.keys(fixture, of: "ann").count == 3)
    }

    @Test func anUnknownUserIsToldAndOneWithoutKeysIsNot() async throws {
        let fixture = try await DataFixture()
        guard case .failure(let unknown) = await fixture.data.perform(.listKeys(user: "bob")) else {
            throw TestFailure("The keys of an unknown user were listed.")
        }
        #expect(unknown.name == "notFound")
        try await fixture.perform(.addUser("bob"))
        #expect(try await Self.keys(fixture, of: "bob").isEmpty)
    }

    @Test func aRevokedKeyActivatesNothing() async throws {
        let fixture = try await DataFixture()
        let link = try await fixture.link()
        let other = try await fixture.link()
        let ids = try await Self.keys(fixture).map(\.id)
        #expect(await fixture.data.perform(.revokeKeys(.one(ids[0].uppercased()))) == .revoked(1))
        let left = try await Self.keys(fixture).map(\.id)
        #expect(left == [ids[1]])
        // The order of two keys that were issued at the same moment is not specified.
        let results = [
            (try? await fixture.enroll(link, DataFixture.request())) != nil,
            (try? await fixture.enroll(other, DataFixture.request())) != nil,
        ]
        #expect(results.count { $0 } == 1)
    }

    /// A mistyped version, or an app with another one's link, must not cost the link.
    @Test func anotherAppOrVersionLeavesTheKeyUnused() async throws {
        let fixture = try await DataFixture()
        let link = try await fixture.link()
        let request = try DataFixture.request()
        await #expect(throws: GatewayError(.versionNotEntitled, "")) {
            try await fixture.chain(link, request, version: "2.0.0.0")
        }
        await #expect(throws: GatewayError(.wrongApplication, "")) {
            try await fixture.chain(link, request, entitlement: "com.example.other", version: "2.0.0.0")
        }
        #expect(try await Self.keys(fixture).map(\.state) == ["unused"])
        let chain = try await fixture.chain(link, request, entitlement: "com.example.report", version: "1.0.0.0")
        // The same request again gets the same certificate.
        #expect(try await fixture.chain(link, request, version: "1.0.0.0") == chain)
        // And no certificate for something else.
        await #expect(throws: GatewayError(.versionNotEntitled, "")) {
            try await fixture.chain(link, request, version: "2.0.0.0")
        }
        #expect(try await fixture.chain(link, request) == chain)
        await #expect(throws: GatewayError(.keyUsed, "")) {
            try await fixture.chain(link, DataFixture.request(), version: "2.0.0.0")
        }
    }

    @Test func allUnusedKeysOfAUserAreRevokedTogether() async throws {
        let fixture = try await DataFixture()
        try await fixture.perform(.addUser("bob"))
        try await fixture.perform(.entitle(user: "bob", entitlement: "com.example.report", version: "1.0.0.0"))
        let used = try await fixture.link()
        let presented = try await fixture.enroll(used, DataFixture.request())
        for _ in 0..<3 { _ = try await fixture.link() }
        _ = await fixture.data.perform(.issueKey(user: "bob", entitlement: "com.example.report"))
        #expect(await fixture.data.perform(.revokeKeys(.all(ofUser: "ann"))) == .revoked(3))
        #expect(try await Self.keys(fixture).map(\.user).sorted() == ["ann", "bob"])
        #expect(try await fixture.document(presented).status == .active)
        #expect(await fixture.data.perform(.revokeKeys(.all(ofUser: "ann"))) == .revoked(0))
    }

    @Test func aUsedOrUnknownKeyIsNotRevoked() async throws {
        let fixture = try await DataFixture()
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let id = try #require(try await Self.keys(fixture).first).id
        guard case .failure(let used) = await fixture.data.perform(.revokeKeys(.one(id))) else {
            Issue.record("a used key is an instance by now")
            return
        }
        #expect(used.name == "invalid" && used.message.contains(presented.name.instance.description))
        for id in ["", "x", UUID().uuidString] {
            guard case .failure(let unknown) = await fixture.data.perform(.revokeKeys(.one(id))) else {
                Issue.record("no such key")
                return
            }
            #expect(unknown.name == "notFound")
        }
    }

    @Test func aRemovalDestroysWhatIsUnusedOnly() async throws {
        let fixture = try await DataFixture()
        try await fixture.perform(.entitle(user: "ann", entitlement: "com.example.report", version: "2.0.0.0"))
        _ = try await fixture.enroll(fixture.link(), DataFixture.request())
        _ = try await fixture.link()
        // The user still has one version, and the link is for the application.
        try await fixture.perform(
            .unentitle(user: "ann", entitlement: "com.example.report", version: "2.0.0.0", confirmed: false))
        #expect(try await Self.keys(fixture).map(\.state).sorted() == ["unused", "used"])
        try await fixture.perform(.removeUser("ann", confirmed: true))
        #expect(try await Self.keys(fixture).map(\.state) == ["used"])
    }
}
