import Synchronization
import TestSupport
import Testing

@testable import SallyportBase
@testable import SallyportCore

@Suite struct AccessFeedTests {
    private final class Seen: Sendable {
        let changes = Lock<[AccessChange]>([])
        var accesses: [Access] { changes.withLock { $0.map(\.to) } }
        func note(_ change: AccessChange) { changes.withLock { $0.append(change) } }
    }

    private let feed = AccessFeed<Int>()

    private func open(_ rules: Int) { feed.open(rules) { $0 == rules } }

    @Test func everyChangeReachesAnObserverEveryTime() {
        let seen = Seen()
        let observation = feed.observe { seen.note($0) }
        open(1)
        feed.withdraw(.blocked)
        open(1)
        feed.withdraw(.blocked)
        feed.withdraw(.remoteLockout)
        feed.withdraw(.wiped)
        #expect(
            seen.accesses == [
                .open(revision: 1), .withdrawn(.blocked), .open(revision: 2), .withdrawn(.blocked),
                .withdrawn(.remoteLockout), .withdrawn(.wiped),
            ])
        withExtendedLifetime(observation) {}
    }

    @Test func anObserverBeginsWithThePresentAccess() {
        feed.withdraw(.blocked)
        let seen = Seen()
        let observation = feed.observe { seen.note($0) }
        #expect(seen.accesses == [.withdrawn(.blocked)])
        feed.withdraw(.wiped)
        #expect(seen.accesses == [.withdrawn(.blocked), .withdrawn(.wiped)])
        withExtendedLifetime(observation) {}
    }

    @Test func beforeAuthorizationThereIsNothingToTell() {
        let seen = Seen()
        let observation = feed.observe { seen.note($0) }
        #expect(seen.accesses.isEmpty)
        withExtendedLifetime(observation) {}
    }

    @Test func equalRulesAndEqualCodesAreNoChange() {
        let seen = Seen()
        let observation = feed.observe { seen.note($0) }
        open(1)
        open(1)
        open(2)
        feed.withdraw(.blocked)
        feed.withdraw(.blocked)
        #expect(seen.accesses == [.open(revision: 1), .open(revision: 2), .withdrawn(.blocked)])
        withExtendedLifetime(observation) {}
    }

    @Test func aReleasedRegistrationIsNotCalled() {
        let seen = Seen()
        var observation: AccessObservation? = feed.observe { seen.note($0) }
        withExtendedLifetime(observation) {}
        observation = nil
        feed.withdraw(.wiped)
        #expect(seen.accesses.isEmpty)
        #expect(feed.observerCount == 0)
    }

    @Test func aWithdrawalDrawnFromAnOlderEditionHasNoEffect() {
        open(1)
        let edition = feed.present.edition
        open(1)
        feed.withdraw(.blocked, unlessNewerThan: edition)
        #expect(feed.present.value.access == .open(revision: 1))
        feed.withdraw(.blocked, unlessNewerThan: feed.present.edition)
        #expect(feed.present.value.access == .withdrawn(.blocked))
    }

    // MARK: Asynchronous observers

    @Test func awaitedObserversHaveReturnedOnceItIsSettled() async {
        feed.withdraw(.blocked)
        let seen = Seen()
        let observation = feed.observe(awaiting: { change in
            try? await Task.sleep(for: .milliseconds(2))
            seen.note(change)
        })
        await feed.settle()
        #expect(seen.accesses.isEmpty, "the present access is not told")
        open(1)
        feed.withdraw(.remoteLockout)
        #expect(seen.accesses.isEmpty, "nobody has waited yet")
        await feed.settle()
        #expect(seen.accesses == [.open(revision: 1), .withdrawn(.remoteLockout)])
        withExtendedLifetime(observation) {}
    }

    /// A withdrawal's secrets are dropped, even if the task that found the withdrawal is cancelled.
    @Test func aCancelledTaskLeavesNothingUndone() async {
        let seen = Seen()
        let observation = feed.observe(awaiting: { seen.note($0) })
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            feed.withdraw(.wiped)
            await feed.settle()
            #expect(seen.accesses == [.withdrawn(.wiped)])
        }
        await task.value
        withExtendedLifetime(observation) {}
    }

    @Test func eachOfManySettlingTasksFindsItsOwnChangeDone() async {
        let seen = Seen()
        let observation = feed.observe(awaiting: { change in
            await Task.yield()
            seen.note(change)
        })
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<64 {
                group.addTask {
                    feed.withdraw(ResultCode(rawValue: -1000 - number))
                    await feed.settle()
                    #expect(seen.accesses.contains(.withdrawn(ResultCode(rawValue: -1000 - number))))
                }
            }
        }
        let changes = seen.changes.withLock { $0 }
        #expect(changes.count == 64 && zip(changes, changes.dropFirst()).allSatisfy { $0.to == $1.from })
        withExtendedLifetime(observation) {}
    }

    @Test func aReleasedAwaitedRegistrationIsNotCalled() async {
        let seen = Seen()
        var observation: AccessObservation? = feed.observe(awaiting: { seen.note($0) })
        withExtendedLifetime(observation) {}
        observation = nil
        feed.withdraw(.wiped)
        await feed.settle()
        #expect(seen.accesses.isEmpty)
    }

    /// Four threads publish while observers register; each observer sees changes of which every one begins with the
    /// state in which the one before it ended.
    @Test func observersSeeChangesInOrderFromManyThreads() async {
        let all = Lock<[(Seen, AccessObservation)]>([])
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<4 {
                group.addTask {
                    for number in 0..<500 {
                        if number % 100 == 0 {
                            let seen = Seen()
                            let observation = self.feed.observe { seen.note($0) }
                            all.withLock { $0.append((seen, observation)) }
                        }
                        if number % 3 == 0 { self.feed.withdraw(.blocked) } else { self.open(thread * 1000 + number) }
                    }
                }
            }
        }
        let present = feed.present.value.access
        for (seen, _) in all.withLock({ $0 }) {
            let changes = seen.changes.withLock { $0 }
            #expect(zip(changes, changes.dropFirst()).allSatisfy { $0.to == $1.from })
            #expect(changes.last?.to == present)
        }
    }
}

@Suite struct AccessChangeTableTests {
    private static let locks: [ResultCode] = [
        .remoteLockout, .appVersionNotEntitled, .idleLockout, .passwordChangeRequired, .securityError,
        ResultCode(rawValue: -9999),
    ]

    @Test func eachCodeHasOneLevel() {
        #expect(ResultCode.blocked.withdrawal == .block)
        for code in Self.locks { #expect(code.withdrawal == .lock) }
        for code in [ResultCode.wiped, .appDenied] { #expect(code.withdrawal == .wipe) }
    }

    @Test func eachLevelDoesWhatTheOneBeforeDoesAndMore() {
        #expect(WithdrawalLevel.allCases.map(\.dropsSecrets) == [false, true, true])
        #expect(WithdrawalLevel.allCases.map(\.destroysData) == [false, false, true])
        #expect(WithdrawalLevel.block < .lock && WithdrawalLevel.lock < .wipe)
    }

    @Test func everyWithdrawalEndsWhatIsOpenWithItsCode() {
        for code in Self.locks + [.blocked, .wiped, .appDenied] {
            let change = AccessChange(from: .open(revision: 1), to: .withdrawn(code))
            #expect(change.ending == AccessDenied(.withdrawn, code: code))
            #expect(change.dropsSecrets == code.withdrawal.dropsSecrets)
            #expect(change.destroysData == code.withdrawal.destroysData)
            #expect(!change.changesRules)
        }
    }

    @Test func otherRulesJudgeAndEndNothingByThemselves() {
        let change = AccessChange(from: .open(revision: 1), to: .open(revision: 2))
        #expect(change.changesRules && change.ending == nil && !change.dropsSecrets)
        #expect(!AccessChange(from: .withdrawn(.blocked), to: .open(revision: 2)).changesRules)
    }
}

@Suite struct OpenConnectionTests {
    private static func endpoint(_ text: String) throws -> Endpoint { try Endpoint(text) }

    private static func relay(_ cluster: String) throws -> RelayAccess {
        try RelayAccess(
            cluster: cluster, relays: [.init(endpoint("relay.example:443"), priority: 1)], authorities: [],
            identity: ClientIdentity(certificates: [[1]], privateKey: Redacted("")))
    }

    @Test func directConnectionsEndWithADenyAndWithAnotherWay() throws {
        let gate = StubGate()
        let server = try Self.endpoint("a.example:443")
        let open = OpenConnection(to: server, through: nil, tlsVersion: nil)
        #expect(gate.judge(open) == nil)
        gate.route(by: RoutingTable(servers: [.init(server, route: .deny)], default: .direct))
        #expect(gate.judge(open)?.code == .refusedByPolicy)
        try gate.route(by: RoutingTable(default: .relay(cluster: "main")), relay: Self.relay("main"))
        #expect(gate.judge(open)?.code == .refusedByPolicy)
        gate.withdraw(.remoteLockout)
        #expect(gate.judge(open)?.code == .withdrawn)
    }

    @Test func directConnectionsEndWhereTheirAddressIsDenied() throws {
        let gate = StubGate()
        let server = try Self.endpoint("a.example:443")
        let inside = OpenConnection(
            to: server, through: nil, tlsVersion: nil, peer: try Self.endpoint("10.1.2.3:443"))
        let outside = OpenConnection(
            to: server, through: nil, tlsVersion: nil, peer: try Self.endpoint("192.0.2.1:443"))
        #expect(gate.judge(inside) == nil)
        let network = try #require(IPNetwork("10.0.0.0/8"))
        gate.route(by: RoutingTable(denying: [network], default: .direct))
        #expect(gate.judge(inside)?.code == .refusedByPolicy)
        #expect(gate.judge(outside) == nil)
    }

    @Test func anAddressThatNeedsARuleIsLeftWithIt() throws {
        let gate = StubGate()
        let address = try Self.endpoint("192.0.2.1:443")
        let own = OpenConnection(to: address, through: nil, tlsVersion: nil)
        let direct = OpenConnection(to: address, through: nil, tlsVersion: nil, needsRule: true)
        gate.route(by: RoutingTable(servers: [.init(address, route: .direct)], default: .direct))
        #expect(gate.judge(direct) == nil)
        gate.route(by: RoutingTable(default: .direct))
        #expect(gate.judge(direct)?.underlying is UnnamedAddress)
        #expect(gate.judge(own) == nil)
        let relayed = OpenConnection(to: address, through: "main", tlsVersion: nil, needsRule: true)
        try gate.route(by: RoutingTable(default: .relay(cluster: "main")), relay: Self.relay("main"))
        #expect(gate.judge(relayed)?.code == .refusedByPolicy)
    }

    @Test func aChangeBetweenTheQuestionAndTheConnectionIsFound() throws {
        let gate = StubGate()
        let server = try Self.endpoint("a.example:443")
        let way = try gate.way(to: server, isSecure: true, offering: .standard)
        let open = OpenConnection(to: server, through: nil, tlsVersion: .tls13)
        try gate.confirm(way, open)
        gate.route(by: RoutingTable(servers: [.init(server, route: .deny)], default: .direct))
        let error = #expect(throws: LoadError.self) { try gate.confirm(way, open) }
        #expect(error?.code == .refusedByPolicy)
        gate.withdraw(.blocked)
        #expect(throws: LoadError.self) { try gate.confirm(way, open) }
    }

    @Test func relayedConnectionsEndWithTheirRelayAndItsAuthorities() throws {
        let gate = StubGate()
        func access(_ relays: [String], _ authorities: [[UInt8]]) throws -> RelayAccess {
            RelayAccess(
                cluster: "main", relays: try relays.map { .init(try Self.endpoint($0), priority: 1) },
                authorities: authorities, identity: ClientIdentity(certificates: [[1]], privateKey: Redacted("")))
        }
        let (one, two) = ("one.example:443", "two.example:443")
        let table = RoutingTable(default: .relay(cluster: "main"))
        let server = try Self.endpoint("a.example:443")
        let open = OpenConnection(
            to: server, through: "main", relay: try Self.endpoint(one), trustedBy: [[1], [2]], tlsVersion: .tls13)
        let unknown = OpenConnection(to: server, through: "main", tlsVersion: .tls13)
        try gate.route(by: table, relay: access([one, two], [[1], [2]]))
        #expect(gate.judge(open) == nil)
        try gate.route(by: table, relay: access([two], [[1], [2]]))
        #expect(gate.judge(open)?.code == .refusedByPolicy)
        #expect(gate.judge(unknown) == nil)
        // While authorities are replaced, the one that counts may be either of them.
        try gate.route(by: table, relay: access([one, two], [[2], [3]]))
        #expect(gate.judge(open) == nil)
        try gate.route(by: table, relay: access([one, two], [[3]]))
        #expect(gate.judge(open)?.code == .refusedByPolicy)
    }

    @Test func relayedConnectionsEndWithAnotherClusterAClosedPortAndForbiddenTLS() throws {
        let gate = StubGate()
        let open = OpenConnection(to: try Self.endpoint("a.example:443"), through: "main", tlsVersion: .tls12)
        let odd = OpenConnection(to: try Self.endpoint("a.example:8443"), through: "main", tlsVersion: nil)
        let table = RoutingTable(default: .relay(cluster: "main"))
        try gate.route(by: table, relay: Self.relay("main"))
        #expect(gate.judge(open) == nil)
        #expect(gate.judge(odd)?.code == .refusedByPolicy)
        try gate.route(by: table, relay: Self.relay("main"), blocking: [.tls12])
        #expect(gate.judge(open)?.code == .refusedByPolicy)
        try gate.route(by: table, relay: Self.relay("main"), floor: .tls13)
        #expect(gate.judge(open)?.code == .refusedByPolicy)
        try gate.route(by: table, relay: Self.relay("main"), floor: .tls12)
        #expect(gate.judge(open) == nil)
        try gate.route(by: table, relay: Self.relay("other"))
        #expect(gate.judge(open)?.code == .refusedByPolicy)
    }
}
