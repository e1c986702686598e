import SallyportCore
import Testing

@testable import SallyportGateway

@Suite struct ConnectionBookTests {
    private func source(_ number: UInt32) -> ConnectionSource { ConnectionSource(.v4(number)) }

    private func limits(_ change: (inout ConnectionLimits) -> Void) -> ConnectionLimits {
        var limits = ConnectionLimits()
        change(&limits)
        return limits
    }

    @Test func theDefaultLimitsAreAsPublished() {
        let limits = ConnectionLimits()
        #expect(limits.perSource == 64)
        #expect(limits.handshakeTime == .seconds(5) && limits.requestTime == .seconds(15))
        let shares = DescriptorShares(limit: 1024, used: 24)
        #expect(shares.open == 1000 - 102 && shares.all == 1000 - 51)
    }

    @Test func theOldestOfASourceGivesWayToItsNewest() {
        var book = ConnectionBook(limits { $0.perSource = 2 })
        #expect(book.admit(source(1)) == .admitted(0, givesWay: nil))
        #expect(book.admit(source(1)) == .admitted(1, givesWay: nil))
        #expect(book.admit(source(2)) == .admitted(2, givesWay: nil))
        #expect(book.admit(source(1)) == .admitted(3, givesWay: 0))
        book.left(0)
        #expect(book.admit(source(1)) == .admitted(4, givesWay: 1))
        #expect(book.unauthenticatedCount == 3)
    }

    @Test func ofAllSourcesTheOldestGivesWay() {
        var book = ConnectionBook(limits { $0.unauthenticated = 3 })
        for number in UInt32(0)..<3 {
            #expect(book.admit(source(number)) == .admitted(UInt64(number), givesWay: nil))
        }
        book.left(0)
        #expect(book.admit(source(3)) == .admitted(3, givesWay: nil))
        #expect(book.admit(source(4)) == .admitted(4, givesWay: 1))
    }

    @Test func authenticatedConnectionsAreNotClosedToMakeRoom() {
        var book = ConnectionBook(limits { ($0.perSource, $0.unauthenticated) = (1, 1) })
        #expect(book.admit(source(1)) == .admitted(0, givesWay: nil))
        #expect(book.authenticated(0, as: "one") == true)
        #expect(book.admit(source(1)) == .admitted(1, givesWay: nil))
        #expect(book.admit(source(1)) == .admitted(2, givesWay: 1))
        // A connection that was closed to make room cannot return by a late handshake.
        #expect(book.authenticated(1, as: "one") == false)
        #expect(book.authenticatedCount == 1 && book.unauthenticatedCount == 1)
    }

    @Test func anInstanceHasAsManyAsItMay() {
        var book = ConnectionBook(limits { $0.perInstance = 1 })
        for number in 0..<3 { _ = book.admit(source(UInt32(number))) }
        #expect(book.authenticated(0, as: "one") == true)
        #expect(book.authenticated(1, as: "one") == false)
        #expect(book.authenticated(2, as: "two") == true)
        book.left(0)
        #expect(book.authenticated(1, as: "one") == true)
    }

    @Test func aConnectionThatHasLostItsStandingGivesWayFirst() {
        var book = ConnectionBook(limits { $0.unauthenticated = 3 })
        for number in UInt32(0)..<2 { _ = book.admit(source(number)) }
        #expect(book.authenticated(1, as: "one") == true)
        _ = book.admit(source(2))
        #expect(book.lostStanding(1) == true)
        #expect(book.authenticatedCount == 0 && book.unauthenticatedCount == 3)
        #expect(book.connections(of: "one").isEmpty && book.peers.isEmpty)
        #expect(book.admit(source(3)) == .admitted(3, givesWay: 1))
        book.left(1)
        #expect(book.admit(source(4)) == .admitted(4, givesWay: 0))
        book.left(0)
        #expect(book.open == 3)
    }

    @Test(arguments: [true, false])
    func aConnectionThatHasLostItsStandingIsClosedIfThereIsNoPlaceForIt(ofItsSource: Bool) {
        var book = ConnectionBook(limits { if ofItsSource { $0.perSource = 1 } else { $0.unauthenticated = 1 } })
        _ = book.admit(source(1))
        #expect(book.authenticated(0, as: "one") == true)
        _ = book.admit(source(ofItsSource ? 1 : 2))
        #expect(book.lostStanding(0) == false)
        #expect(book.authenticatedCount == 0 && book.unauthenticatedCount == 1 && book.open == 2)
        book.left(0)
        #expect(book.open == 1)
    }

    @Test func ofASourceTheOldestGivesWayAlsoIfItHasLostItsStanding() {
        var book = ConnectionBook(limits { $0.perSource = 2 })
        for _ in 0..<2 { _ = book.admit(source(1)) }
        #expect(book.authenticated(0, as: "one") == true)
        #expect(book.lostStanding(0) == true)
        #expect(book.admit(source(1)) == .admitted(2, givesWay: 0))
        #expect(book.admit(source(1)) == .admitted(3, givesWay: 1))
    }

    /// The relay ends its tunnel, and both descriptors are counted until then.
    @Test func aConnectionWithAServerKeepsItsStanding() {
        var book = ConnectionBook(limits { _ in })
        _ = book.admit(source(1))
        #expect(book.authenticated(0, as: "one") == true)
        #expect(book.dials(0) == true)
        #expect(book.lostStanding(0) == true)
        #expect(book.authenticatedCount == 1 && book.open == 2)
        book.left(0)
        #expect(book.open == 0)
    }

    @Test func aTenthOfTheDescriptorsIsNotForStrangers() {
        var book = ConnectionBook(limits { $0.descriptors = DescriptorShares(limit: 200) })
        var number: UInt64 = 0
        for index in 0..<180 {
            #expect(book.admit(source(UInt32(index))) == .admitted(number, givesWay: nil))
            number += 1
        }
        #expect(book.admit(source(1000)) == .admitted(number, givesWay: 0))
        #expect(book.open == 181)
        // Existing connections may authenticate, and connections to their servers may be opened.
        for peer in 1...10 {
            #expect(book.authenticated(UInt64(peer), as: "one") == true)
            #expect(book.dials(UInt64(peer)) == (peer < 10))
        }
        #expect(book.open == 190)
    }

    /// Authenticated connections use all descriptors that administration does not need. The next peer is
    /// unauthenticated when it arrives.
    @Test func aPeerOfWhomNothingIsKnownYetFindsRoomAmongAuthenticatedOnes() {
        var book = ConnectionBook(limits { $0.descriptors = DescriptorShares(limit: 200) })
        for number: UInt64 in 0..<180 {
            _ = book.admit(source(UInt32(number)))
            #expect(book.authenticated(number, as: "one") == true)
        }
        for number: UInt64 in 180..<185 { #expect(book.admit(source(1)) == .admitted(number, givesWay: nil)) }
        #expect(book.admit(source(2)) == .admitted(185, givesWay: 180))
        for number: UInt64 in 181...185 { #expect(book.authenticated(number, as: "one") == true) }
        for number: UInt64 in 186...189 {
            #expect(book.admit(source(3)) == .admitted(number, givesWay: nil))
            #expect(book.authenticated(number, as: "one") == true)
        }
        #expect(book.admit(source(4)) == .refused)
    }

    @Test func aConnectionThatLeftTakesItsServerAlong() {
        var book = ConnectionBook(limits { _ in })
        _ = book.admit(source(1))
        #expect(book.dials(0) == false)
        #expect(book.authenticated(0, as: "one") == true)
        #expect(book.dials(0) == true)
        #expect(book.dials(0) == false)
        #expect(book.open == 2)
        book.left(0)
        #expect(book.open == 0 && book.authenticatedCount == 0)
    }

    @Test(arguments: [
        ("10.0.0.1", "10.0.0.1", true), ("10.0.0.1", "10.0.0.2", false), ("::ffff:10.0.0.1", "10.0.0.1", true),
        ("2001:db8::1", "2001:db8::2:1", true), ("2001:db8::1", "2001:db8:0:1::1", false),
    ])
    func aSourceIsAnAddressOrASite(first: String, second: String, isSame: Bool) throws {
        let addresses = [first, second].compactMap { IPAddress($0) }
        try #require(addresses.count == 2)
        let sources = addresses.map { ConnectionSource($0) }
        #expect((sources[0] == sources[1]) == isSame)
    }
}

@Suite struct ConnectionProgressTests {
    private let limits = ConnectionLimits()

    @Test func aHandshakeHasFiveSecondsAndARequestFifteen() {
        var progress = ConnectionProgress(limits, hasHandshake: true)
        #expect(progress.firstTimer == .start(.seconds(5)))
        #expect(progress.received() == .keep)
        #expect(progress.handshakeEnded() == .start(.seconds(15)))
        #expect(progress.handshakeEnded() == .keep)
    }

    @Test func receivedBytesDoNotExtendARequestsDeadline() {
        var progress = ConnectionProgress(limits, hasHandshake: false)
        #expect(progress.firstTimer == .start(.seconds(15)))
        for _ in 0..<3 { #expect(progress.received() == .keep) }
        #expect(progress.requestEnded() == .stop)
        #expect(progress.received() == .start(.seconds(15)))
        #expect(progress.received() == .keep)
    }
}

extension ConnectionLimits {
    /// Limits long enough for a busy machine, except for the one that a test is about.
    static func slow(
        handshakeTime: Duration = .seconds(60), requestTime: Duration = .seconds(60)
    ) -> ConnectionLimits {
        var limits = ConnectionLimits()
        (limits.handshakeTime, limits.requestTime) = (handshakeTime, requestTime)
        return limits
    }
}
