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

    private func follower(newest: Int64 = 0) -> FeedFollower { FeedFollower(newest: newest) { Date() } }

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

    /// - Returns: whether it came into force.
    private func give(_ update: FeedUpdate, to follower: inout FeedFollower, by sender: Int = 0) throws -> Bool {
        guard try follower.begins(from: update.from, to: update.revision, sender) else {
            follower.skipped(to: update.revision, sender)
            return false
        }
        return try follower.received(update, sender) != nil
    }

    @Test func aSnapshotAndItsChangesComeIntoForce() throws {
        var follower = follower()
        #expect(try give(snapshot(5), to: &follower))
        var change = FeedUpdate(from: 5, revision: 6)
        change.instances = .some([try record()])
        #expect(try give(change, to: &follower))
        #expect(follower.state?.revision == 6)
        #expect(follower.state?.instances.count == 1)
    }

    @Test func aChangeOfOneGatewayContinuesWhatAnotherHasSent() throws {
        var follower = follower()
        #expect(try give(snapshot(5), to: &follower, by: 0))
        #expect(try give(snapshot(7), to: &follower, by: 1))
        var change = FeedUpdate(from: 5, revision: 8)
        change.instances = .some([try record([.locked])])
        #expect(try give(change, to: &follower, by: 0))
        #expect(try !give(FeedUpdate(from: 7, revision: 8), to: &follower, by: 1))
        #expect(follower.state?.revision == 8)
        #expect(try follower.state?.instances[#require(name).instance]?.withdrawals == [.locked])
    }

    @Test func aLowerRevisionIsNeverApplied() throws {
        var follower = follower()
        #expect(try give(snapshot(9), to: &follower, by: 0))
        for revision in [Int64(1), 8, 9] {
            follower.ended(1)
            #expect(try !give(snapshot(revision), to: &follower, by: 1))
            #expect(follower.state?.revision == 9)
        }
    }

    @Test func aRevisionThatIsLowerThanAStoredOneIsNotApplied() throws {
        var follower = follower(newest: 9)
        #expect(try !give(snapshot(8), to: &follower))
        #expect(follower.state == nil)
        follower.ended(0)
        #expect(try give(snapshot(9), to: &follower))
    }

    @Test func aSlowerSnapshotDoesNotUndoWhatCameMeanwhile() throws {
        var follower = follower()
        #expect(try follower.begins(from: nil, to: 5, 0))
        #expect(try give(snapshot(6), to: &follower, by: 1))
        #expect(try follower.received(snapshot(5), 0) == nil)
        #expect(follower.state?.revision == 6)
    }

    @Test func anUpdateThatDoesNotContinueTheSendersLastOneIsRefused() throws {
        var follower = follower()
        #expect(throws: GatewayError.self) { try follower.begins(from: 3, to: 4, 0) }
        #expect(try give(snapshot(5), to: &follower))
        for (from, to) in [(4, 6), (6, 7), (nil, 9), (5, 5)] as [(Int64?, Int64)] {
            #expect(throws: GatewayError.self) { try follower.begins(from: from, to: to, 0) }
        }
    }

    @Test func aSnapshotThatLacksAPartIsRefused() throws {
        var follower = follower()
        var update = snapshot(5)
        update.authorities = nil
        let broken = update
        #expect(throws: GatewayError.self) { try follower.received(broken, 0) }
        #expect(follower.state == nil)
    }

    @Test func onlyABeatBehindAllThatIsInForceIsWordFromTheStore() throws {
        var follower = follower()
        #expect(!follower.confirms(FeedBeat(revision: 0, age: 0, echo: 0), 0))
        #expect(try give(snapshot(5), to: &follower, by: 0))
        #expect(follower.confirms(FeedBeat(revision: 5, age: 0, echo: 0), 0))
        #expect(!follower.confirms(FeedBeat(revision: 5, age: nil, echo: 0), 0))
        #expect(!follower.confirms(FeedBeat(revision: 4, age: 0, echo: 0), 0))
        #expect(try give(snapshot(6), to: &follower, by: 1))
        // The first one's store may have been put back.
        #expect(!follower.confirms(FeedBeat(revision: 5, age: 0, echo: 0), 0))
        #expect(follower.confirms(FeedBeat(revision: 6, age: 0, echo: 0), 1))
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

    @Test func oneThatFailedIsTakenAgainIfThereIsNoOther() {
        var choice = ControlChoice(["a:1"])
        #expect(choice.take(0) == "a:1")
        #expect(choice.take(1) == nil)
        choice.failed(0, at: .now)
        #expect(choice.take(1) == "a:1")
    }
}
