import Foundation
import HashTreeCollections
import SallyportWire
import Testing

@testable import SallyportGateway

/// Which updates of several gateways come into force at a relay.
@Suite struct FeedFollowerTests {
    private let authorities: FeedAuthorities
    private let name = InstanceName("sallyport://com.example.report/\(InstanceIdentifier())")

    init() throws {
        let identity = try CertificateAuthority.create(name: "test", now: Date())
        authorities = FeedAuthorities(trust: [identity.certificate])
    }

    /// A relay's follower, and what it is given.
    private final class Follower {
        private(set) var value: FeedFollower

        init(newest: Int64 = 0) { value = FeedFollower(newest: newest) { Date() } }

        /// - Returns: whether it came into force.
        func take(_ update: FeedUpdate, by sender: Int = 0) throws -> Bool {
            guard try begins(from: update.from, to: update.revision, sender) else {
                value.skipped(to: update.revision, sender)
                return false
            }
            return try receives(update, sender)
        }

        func begins(from: Int64?, to revision: Int64, _ sender: Int) throws -> Bool {
            try value.begins(from: from, to: revision, sender)
        }

        func receives(_ update: FeedUpdate, _ sender: Int) throws -> Bool { try value.received(update, sender) != nil }

        func ended(_ sender: Int) { value.ended(sender) }
    }

    private func snapshot(_ revision: Int64) -> FeedUpdate {
        var update = FeedUpdate(from: nil, revision: revision)
        (update.directory, update.users, update.authorities, update.controls) = (Directory(), [:], authorities, [])
        return update
    }

    private func record(_ withdrawals: Set<InstanceRecord.Withdrawal> = []) throws -> InstanceRecord {
        let name = try #require(name)
        return InstanceRecord(
            name: name, user: "ann", userID: UserIdentifier(), withdrawals: withdrawals,
            certificate: .init([]), activated: .distantPast)
    }

    @Test func aSnapshotAndItsChangesComeIntoForce() throws {
        let follower = Follower()
        #expect(try follower.take(snapshot(5)))
        var change = FeedUpdate(from: 5, revision: 6)
        change.instances = .some([try record()])
        #expect(try follower.take(change))
        #expect(follower.value.state?.revision == 6)
        #expect(follower.value.state?.instances.count == 1)
    }

    @Test func aChangeOfOneGatewayContinuesWhatAnotherHasSent() throws {
        let follower = Follower()
        #expect(try follower.take(snapshot(5), by: 0))
        #expect(try follower.take(snapshot(7), by: 1))
        var change = FeedUpdate(from: 5, revision: 8)
        change.instances = .some([try record([.locked])])
        #expect(try follower.take(change, by: 0))
        #expect(try !follower.take(FeedUpdate(from: 7, revision: 8), by: 1))
        #expect(follower.value.state?.revision == 8)
        let id = try #require(name).instance
        #expect(follower.value.state?.instances[id]?.withdrawals == [.locked])
    }

    @Test func aLowerRevisionIsNeverApplied() throws {
        let follower = Follower()
        #expect(try follower.take(snapshot(9), by: 0))
        for revision in [Int64(1), 8, 9] {
            follower.ended(1)
            #expect(try !follower.take(snapshot(revision), by: 1))
            #expect(follower.value.state?.revision == 9)
        }
    }

    @Test func aRevisionThatIsLowerThanAStoredOneIsNotApplied() throws {
        let follower = Follower(newest: 9)
        #expect(try !follower.take(snapshot(8)))
        #expect(follower.value.state?.revision == nil)
        follower.ended(0)
        #expect(try follower.take(snapshot(9)))
    }

    /// The relay was started again, and the gateway has not yet caught up with what the relay had before.
    @Test func aSenderThatCatchesUpIsToBeginAnewIfItsSnapshotWasTooOld() throws {
        let follower = Follower(newest: 9)
        #expect(try !follower.take(snapshot(6)))
        #expect(try !follower.take(FeedUpdate(from: 6, revision: 8)))
        #expect(throws: GatewayError.self) { try follower.begins(from: 8, to: 9, 0) }
        follower.ended(0)
        #expect(try follower.take(snapshot(9)))
        #expect(follower.value.state?.revision == 9)
    }

    /// The sender's store may have been put back, and have come to the same revision by other changes.
    @Test func aSenderThatWasBehindDoesNotContinueTheStateOfAnother() throws {
        let follower = Follower()
        #expect(try follower.take(snapshot(7), by: 1))
        #expect(try !follower.take(snapshot(5), by: 0))
        #expect(try !follower.take(FeedUpdate(from: 5, revision: 6), by: 0))
        #expect(!follower.value.confirms(FeedBeat(revision: 6, age: 0, echo: 0), 0))
        #expect(throws: GatewayError.self) { try follower.begins(from: 6, to: 7, 0) }
        follower.ended(0)
        var whole = snapshot(7)
        whole.instances = .some([try record([.locked])])
        #expect(try follower.take(whole, by: 0))
        let id = try #require(name).instance
        #expect(follower.value.state?.instances[id]?.withdrawals == [.locked])
        follower.ended(1)
        #expect(try !follower.take(snapshot(7), by: 1))
        #expect(try follower.take(FeedUpdate(from: 7, revision: 8), by: 0))
    }

    @Test func aSlowerSnapshotDoesNotUndoWhatCameMeanwhile() throws {
        let follower = Follower()
        #expect(try follower.begins(from: nil, to: 5, 0))
        #expect(try follower.take(snapshot(6), by: 1))
        #expect(try !follower.receives(snapshot(5), 0))
        #expect(follower.value.state?.revision == 6)
    }

    /// A relay that starts asks two gateways at the same time. The store of the one that is behind may have been put
    /// back.
    @Test(arguments: [true, false])
    func ofTwoSnapshotsThatBeginTogetherOnlyTheNewerOnesSenderGoesOn(_ isOlderFirst: Bool) throws {
        let follower = Follower()
        #expect(try follower.begins(from: nil, to: 5, 0))
        #expect(try follower.begins(from: nil, to: 7, 1))
        if isOlderFirst { #expect(try follower.receives(snapshot(5), 0)) }
        #expect(try follower.receives(snapshot(7), 1))
        if !isOlderFirst { #expect(try !follower.receives(snapshot(5), 0)) }
        #expect(try !follower.take(FeedUpdate(from: 5, revision: 6), by: 0))
        #expect(throws: GatewayError.self) { try follower.begins(from: 6, to: 8, 0) }
        #expect(try follower.take(FeedUpdate(from: 7, revision: 8), by: 1))
        follower.ended(0)
        #expect(try follower.take(snapshot(8), by: 0))
        #expect(try follower.take(FeedUpdate(from: 8, revision: 9), by: 0))
    }

    /// Or else a sender would begin anew for ever if changes come faster than its snapshot.
    @Test func aSnapshotThatChangesOvertakeIsContinued() throws {
        let follower = Follower()
        #expect(try follower.take(snapshot(5), by: 0))
        #expect(try follower.begins(from: nil, to: 6, 1))
        #expect(try follower.take(FeedUpdate(from: 5, revision: 7), by: 0))
        #expect(try !follower.receives(snapshot(6), 1))
        #expect(try follower.take(FeedUpdate(from: 6, revision: 8), by: 1))
    }

    @Test func anUpdateThatDoesNotContinueTheSendersLastOneIsRefused() throws {
        let follower = Follower()
        #expect(throws: GatewayError.self) { try follower.begins(from: 3, to: 4, 0) }
        #expect(try follower.take(snapshot(5)))
        for (from, to) in [(4, 6), (6, 7), (nil, 4), (nil, 5), (5, 5)] as [(Int64?, Int64)] {
            #expect(throws: GatewayError.self) { try follower.begins(from: from, to: to, 0) }
        }
    }

    /// The gateway's log does not go back to the relay's position.
    @Test func aSnapshotInTheMidstOfAFeedComesIntoForceAndIsContinued() throws {
        var log = FeedLog()
        log.note(.init(revision: 5))
        let follower = Follower()
        #expect(try follower.take(snapshot(5)))
        log.note(.init(revision: 6, instances: (0...FeedLog.instanceLimit).map { _ in InstanceIdentifier() }))
        #expect(log.changes(after: 5) == nil)
        var whole = snapshot(6)
        whole.instances = .some([try record([.locked])])
        #expect(try follower.take(whole))
        let id = try #require(name).instance
        #expect(follower.value.state?.instances[id]?.withdrawals == [.locked])
        #expect(follower.value.confirms(FeedBeat(revision: 6, age: 0, echo: 0), 0))
        #expect(try follower.take(FeedUpdate(from: 6, revision: 7)))
    }

    @Test func twoGatewaysMaySendASnapshotInTheMidstOfTheirFeedsAtOnce() throws {
        let follower = Follower()
        #expect(try follower.take(snapshot(5), by: 0))
        #expect(try !follower.take(snapshot(5), by: 1))
        for sender in [0, 1] { #expect(try follower.begins(from: nil, to: 6, sender)) }
        #expect(try follower.receives(snapshot(6), 1))
        #expect(try !follower.receives(snapshot(6), 0))
        #expect(try follower.take(FeedUpdate(from: 6, revision: 7), by: 0))
        #expect(try follower.take(FeedUpdate(from: 6, revision: 8), by: 1))
    }

    @Test func aSenderWhoseLaterSnapshotIsBehindTooDoesNotContinueTheStateOfAnother() throws {
        let follower = Follower()
        #expect(try follower.take(snapshot(7), by: 1))
        for revision in [Int64(5), 6] { #expect(try !follower.take(snapshot(revision), by: 0)) }
        #expect(throws: GatewayError.self) { try follower.begins(from: 6, to: 8, 0) }
    }

    @Test func aSenderThatWasBehindIsFollowedFromALaterSnapshotOn() throws {
        let follower = Follower()
        #expect(try follower.take(snapshot(7), by: 1))
        #expect(try !follower.take(snapshot(5), by: 0))
        var whole = snapshot(7)
        whole.instances = .some([try record([.locked])])
        #expect(try follower.take(whole, by: 0))
        let id = try #require(name).instance
        #expect(follower.value.state?.instances[id]?.withdrawals == [.locked])
        #expect(try follower.take(FeedUpdate(from: 7, revision: 8), by: 0))
    }

    @Test func aSnapshotThatLacksAPartIsRefused() throws {
        let follower = Follower()
        var update = snapshot(5)
        update.authorities = nil
        let broken = update
        #expect(throws: GatewayError.self) { try follower.receives(broken, 0) }
        #expect(follower.value.state?.revision == nil)
    }

    @Test func onlyABeatBehindAllThatIsInForceIsWordFromTheStore() throws {
        let follower = Follower()
        #expect(!follower.value.confirms(FeedBeat(revision: 0, age: 0, echo: 0), 0))
        #expect(try follower.take(snapshot(5), by: 0))
        #expect(follower.value.confirms(FeedBeat(revision: 5, age: 0, echo: 0), 0))
        #expect(!follower.value.confirms(FeedBeat(revision: 5, age: nil, echo: 0), 0))
        #expect(!follower.value.confirms(FeedBeat(revision: 4, age: 0, echo: 0), 0))
        #expect(try follower.take(snapshot(6), by: 1))
        // The first one's store may have been put back.
        #expect(!follower.value.confirms(FeedBeat(revision: 5, age: 0, echo: 0), 0))
        #expect(follower.value.confirms(FeedBeat(revision: 6, age: 0, echo: 0), 1))
    }
}

@Suite struct RelayLeaseTests {
    private let start = ContinuousClock.now

    private func after(_ seconds: Int) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }

    @Test func itLastsFromTheLastWord() {
        var lease = RelayLease(.seconds(30))
        #expect(lease.isOver(at: start))
        lease.heard(at: start)
        #expect(!lease.isOver(at: after(29)))
        #expect(lease.isOver(at: after(30)))
        lease.heard(at: after(20))
        lease.heard(at: after(10))
        #expect(!lease.isOver(at: after(49)))
        #expect(lease.isOver(at: after(50)))
    }

    @Test func oneThatWasEndedBeginsWithLaterWordOnly() {
        var lease = RelayLease(.seconds(30))
        lease.heard(at: start)
        lease.end(at: after(5))
        #expect(lease.isOver(at: after(5)))
        lease.heard(at: after(5))
        #expect(lease.isOver(at: after(6)))
        lease.heard(at: after(6))
        #expect(!lease.isOver(at: after(7)))
    }
}

@Suite struct ControlChoiceTests {
    @Test func twoPlacesHaveTwoGatewaysAndALostOneIsReplaced() {
        var choice = ControlChoice(["a:1", "b:1", "c:1"])
        let first = choice.take(0)
        let second = choice.take(1)
        #expect(first != nil && second != nil && first != second)
        choice.failed(0, at: .now)
        let third = choice.take(0)
        #expect(third != first && third != second)
    }

    @Test func thoseThatAreFollowedAreTriedFirst() {
        var choice = ControlChoice((1...20).map { "a:\($0)" })
        let followed = Set([choice.take(0), choice.take(1)].compactMap(\.self))
        let order = choice.inOrder()
        #expect(Set(order.prefix(2)) == followed)
        #expect(Set(order) == Set(choice.addresses) && order.count == 20)
    }

    @Test func oneThatFailedIsTakenAgainIfThereIsNoOther() {
        var choice = ControlChoice(["a:1"])
        #expect(choice.take(0) == "a:1")
        #expect(choice.take(1) == nil)
        choice.failed(0, at: .now)
        #expect(choice.take(1) == "a:1")
    }
}
