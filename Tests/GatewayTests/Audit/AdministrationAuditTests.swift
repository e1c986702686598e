import Foundation
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// What acts of administration, activations and renewals leave in the audit trail, in both stores.
@Suite(.timeLimit(.minutes(1))) struct AdministrationAuditTests {
    private let fixture: DataFixture

    init() async throws { fixture = try await DataFixture() }

    /// The entries that a command adds.
    private func added(_ body: () async throws -> Void) async throws -> [AuditEntry] {
        let before = try await fixture.entries().count
        try await body()
        return Array(try await fixture.entries().dropFirst(before))
    }

    private func entry(of command: AdministrationCommand) async throws -> AuditEntry {
        let entries = try await added { _ = await fixture.data.perform(command) }
        try #require(entries.count == 1, "\(command): \(entries.count)")
        return entries[0]
    }

    @Test func aCommandHasAnEntryOfWhoDidWhatWhereAndWhen() async throws {
        let actor = AuditActor.socket(uid: 1234, account: "alice")
        let entries = try await added {
            _ = await fixture.data.perform(
                .entitle(user: "ann", entitlement: "com.example.report", version: "2.0.0.0"), by: actor)
        }
        let entry = try #require(entries.first)
        #expect(entries.count == 1)
        #expect(entry.time == fixture.now.milliseconds)
        var fields = entry.fields
        #expect(fields.removeValue(forKey: "salt")?.count == 24)
        #expect(
            fields == [
                "kind": "administration", "actor": "socket", "uid": "1234", "account": "alice", "action": "entitle",
                "outcome": "done", "user": "ann", "entitlement": "com.example.report", "version": "2.0.0.0",
                "gateway": "localhost",
            ])
    }

    @Test func everyCommandThatChangesSomethingHasOneEntry() async throws {
        let commands: [(AdministrationCommand, String)] = [
            (.addUser("bob"), "addUser"), (.setPrincipalName(user: "bob", "bob@CORP"), "setPrincipalName"),
            (.addApplication(entitlement: "com.example.b", version: "1.0.0.0"), "addApplication"),
            (.configureApplication(entitlement: "com.example.b", text: "x"), "configureApplication"),
            (.setLogging(entitlement: "com.example.b", isDetailed: true, isKeptFromUsers: nil), "setLogging"),
            (.setExtraInfo(entitlement: "com.example.b", json: "{}"), "setExtraInfo"),
            (.setPolicy(entitlement: "com.example.b", json: "{}"), "setPolicy"),
            (.issueKey(user: "ann", entitlement: "com.example.report"), "issueKey"),
            (.revokeKeys(.all(ofUser: "ann")), "revokeKeys"), (.setLease("12h"), "setLease"),
            (.addServer(.init(endpoint: "a.example:443")), "addServer"),
            (.removeServer(endpoint: "a.example:443"), "removeServer"),
            (.setRoute(domain: "a.example", route: "relay", ports: nil), "setRoute"),
            (.removeRoute(domain: "a.example"), "removeRoute"), (.blockTLS(version: "TLS1.0"), "blockTLS"),
            (.unblockTLS(version: "TLS1.0"), "unblockTLS"), (.setTLSFloor(version: "TLS1.2"), "setTLSFloor"),
            (.forbidScheme(name: "basic"), "forbidScheme"), (.allowScheme(name: "basic"), "allowScheme"),
            (.setCluster(name: "west", relays: [.init(endpoint: "r.example:1")]), "setCluster"),
            (.removeCluster(name: "west"), "removeCluster"), (.addRealm(name: "CORP", kdc: "kdc"), "addRealm"),
            (.removeRealm(name: "CORP"), "removeRealm"), (.setDefaultDomains(["a.example"]), "setDefaultDomains"),
            (.apply(yaml: "users: [{name: carl}]\n", prune: false, dryRun: false, confirmed: false), "apply"),
            (.removeUser("bob", confirmed: false), "removeUser"), (.authority(.revoke(confirmed: true)), "authority"),
        ]
        for (command, action) in commands {
            let entry = try await entry(of: command)
            #expect(entry[.action] == action)
            #expect(["done", "unchanged"].contains(entry[.outcome]), "\(action): \(entry[.outcome] ?? "-")")
        }
        #expect(try await fixture.report().isSound)
    }

    @Test func whatOnlyListsHasNone() async throws {
        let entries = try await added {
            for command: AdministrationCommand in [
                .listUsers, .listApplications, .listServers, .listRoutes, .listClusters, .listRealms, .listInstances,
                .listKeys(user: nil), .listGateways, .show, .authority(.status),
                .apply(yaml: "users: [{name: carl}]\n", prune: false, dryRun: true, confirmed: false),
            ] {
                if case .failure(let failure) = await fixture.data.perform(command) {
                    Issue.record("\(command): \(failure)")
                }
            }
        }
        #expect(entries.isEmpty)
    }

    @Test func readingTheTrailIsInTheTrail() async throws {
        let requests: [(AuditRequest, String)] = [
            (.list(.init()), "audit.list"), (.export, "audit.export"),
            (.page(chain: "administration", after: 0, through: 3), "audit.page"),
            (.verify(checkpoint: nil), "audit.verify"), (.checkpoint, "audit.checkpoint"),
        ]
        for (request, action) in requests {
            #expect(try await entry(of: .audit(request))[.action] == action)
        }
    }

    @Test func refusedCommandsHaveAnEntryToo() async throws {
        let unknown = try await entry(of: .removeUser("eve", confirmed: false))
        #expect(unknown[.outcome] == "notFound" && unknown[.user] == "eve")
        let invalid = try await entry(of: .addUser("secret:word"))
        #expect(invalid[.outcome] == "invalid" && invalid[.user] == nil)
        #expect(!invalid.json.contains("secret"))
        #expect(try await entry(of: .addUser("ann"))[.outcome] == "exists")
    }

    @Test func whatAsksForAConfirmationHasAnEntryOfThat() async throws {
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let removal = try await entry(of: .removeUser("ann", confirmed: false))
        #expect(removal[.outcome] == "needsConfirmation")
        let id = presented.name.instance.description
        let wipe = try await entry(of: .withdraw(instance: id, .wipe, confirmed: false))
        #expect(wipe[.outcome] == "needsConfirmation" && wipe[.instance] == id)
        let done = try await entry(of: .removeUser("ann", confirmed: true))
        #expect(done[.outcome] == "done" && done[.ended] == id && done[.count] == "1")
    }

    @Test func aWithdrawalNamesTheInstanceAndItsUser() async throws {
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let id = presented.name.instance.description
        let lock = try await entry(of: .withdraw(instance: id, .lockIdle))
        #expect(lock[.instance] == id && lock[.user] == "ann" && lock[.detail] == "lockIdle")
        #expect(try await entry(of: .withdraw(instance: id, .lockIdle))[.outcome] == "unchanged")
    }

    @Test func anActivationAndARenewalHaveAnEntryAndARepetitionNone() async throws {
        let (link, request) = (try await fixture.link(), try DataFixture.request())
        let issued = try #require(try await fixture.entries().last)
        let first = try await added { _ = try await fixture.enroll(link, request) }
        #expect(first.map { $0[.kind] } == ["activation"])
        #expect(first.first?[.key] == issued[.key] && first.first?[.key] != nil)
        #expect(first.first?[.user] == "ann" && first.first?[.actor] == "instance")
        #expect(try await added { _ = try await fixture.enroll(link, request) }.isEmpty)
        let presented = try await fixture.enroll(link, request)
        let others = try await added { _ = try await fixture.data.reenroll(presented, request: DataFixture.request()) }
        #expect(others.isEmpty, "a renewal is no act of administration")
        #expect(try await fixture.entries(of: .renewals).map { $0[.kind] } == ["renewal"])
        // What an instance reports of itself has none.
        #expect(try await added { _ = try await fixture.document(presented, version: "1.0.0.0") }.isEmpty)
    }

    @Test func theGatewayTellsOfALockOfItsOwn() async throws {
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let renewed = try await fixture.data.presented(
            fixture.data.reenroll(presented, request: DataFixture.request())[0])
        let entries = try await added {
            try await fixture.data.admitted(renewed)
            for _ in 0..<2 {
                await #expect(throws: GatewayError.self) {
                    try await fixture.data.reenroll(presented, request: DataFixture.request())
                }
            }
        }
        #expect(entries.map { $0[.kind] } == ["lock"])
        #expect(entries.first?[.detail] == "store copied" && entries.first?[.actor] == "gateway")
    }

    @Test func withoutItsEntryNothingIsChanged() async throws {
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let link = try await fixture.link()
        let before = try await fixture.data.store.changes(after: nil)
        try await fixture.breakAudit()
        for command: AdministrationCommand in [
            .addUser("eve"), .withdraw(instance: presented.name.instance.description, .lock),
            .issueKey(user: "ann", entitlement: "com.example.report"), .revokeKeys(.all(ofUser: "ann")),
            .authority(.rotate), .audit(.list(.init())),
        ] {
            guard case .failure(let failure) = await fixture.data.perform(command) else {
                Issue.record("\(command) was carried out")
                continue
            }
            #expect(failure.name == "store")
        }
        await #expect(throws: (any Error).self) { try await fixture.enroll(link, DataFixture.request()) }
        await #expect(throws: (any Error).self) {
            try await fixture.data.reenroll(presented, request: DataFixture.request())
        }
        let after = try await fixture.data.store.changes(after: nil)
        #expect(after.revision == before.revision && after.instances.count == before.instances.count)
        #expect(try await fixture.data.store.accessKeys().filter { $0.use == nil }.count == 1)
    }

    @Test func anInstancesAccessIsNotChangedWithoutANote() async throws {
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        await #expect(throws: GatewayError(.internalFailure, "")) {
            try await fixture.data.change(presented.name.instance, audit: nil) { $0.withdrawals.insert(.locked) }
        }
        #expect(try await fixture.data.admitted(presented).withdrawal == nil)
    }

    @Test func gatewaysOverOneStoreWriteOneChain() async throws {
        let other = try await fixture.restarted()
        let before = try await fixture.entries().count
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                let gateway = number % 2 == 0 ? fixture.data : other
                group.addTask { #expect(await gateway.perform(.addUser("user\(number)")) == .done) }
            }
            try await group.waitForAll()
        }
        let entries = try await fixture.entries().dropFirst(before)
        #expect(Set(entries.compactMap { $0[.user] }).count == 20)
        #expect(try await fixture.report().isSound)
    }

    @Test func theListIsByKindTimeAndNumber() async throws {
        _ = try await fixture.enroll(fixture.link(), DataFixture.request())
        fixture.advance(60)
        let later = fixture.now.milliseconds
        try await fixture.perform(.addUser("bob"))
        func list(_ query: AuditQuery) async throws -> [AuditEntry] {
            guard case .audit(.entries(let entries)) = await fixture.data.perform(.audit(.list(query))) else {
                throw TestFailure("no list")
            }
            return entries
        }
        #expect(try await list(.init(kinds: [.activation])).map { $0[.kind] } == ["activation"])
        #expect(try await list(.init(since: later)).first?[.user] == "bob")
        #expect(try await list(.init(after: 1, limit: 2)).map(\.number) == [2, 3])
        let last = try await list(.init(limit: 1))
        #expect(last.map { $0[.action] } == ["audit.list"])
        for limit in [0, AuditRequest.pageLimit + 1] {
            guard case .failure(let failure) = await fixture.data.perform(.audit(.list(.init(limit: limit)))) else {
                Issue.record("\(limit)")
                continue
            }
            #expect(failure.name == "invalid")
        }
    }
}
