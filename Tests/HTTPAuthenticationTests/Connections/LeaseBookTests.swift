import SallyportBase
import SallyportCore
import SallyportLoading
import Testing

@testable import SallyportHTTPAuthentication

/// Which load may use which connection.
struct LeaseBookTests {
    private let place = ConnectionPlace(session: "1", limit: 2)
    private let other = ConnectionPlace(session: "2", limit: 2)
    private static let ann = Credential(user: "ann", password: Redacted("1"))
    private static let bob = Credential(user: "bob", password: Redacted("2"))

    private func idle(_ number: UInt64, _ credential: Credential = ann) -> IdleConnection {
        IdleConnection(connection: BoundConnection(), number: number, credential: credential)
    }

    /// As many as there are, begin.
    private func begun(_ count: Int) -> LeaseBook<Int> {
        var book = LeaseBook<Int>()
        for _ in 0..<count {
            let begins = book.begin(at: place)
            #expect(begins)
        }
        return book
    }

    @Test func asManyBeginAsTheLimitOfTheSession() {
        var book = begun(2)
        let (third, elsewhere) = (book.begin(at: place), book.begin(at: other))
        #expect(!third && elsewhere)
        #expect(ConnectionPlace(session: "", limit: -1).limit == 1)
    }

    @Test func waitersGetTheirTurnInOrderOfArrival() {
        var book = begun(2)
        let tickets: [UInt64] = [11, 12, 13]
        for (index, ticket) in tickets.enumerated() { book.wait(index + 1, with: ticket, at: place) }
        let leaving = [book.gaveUp(tickets[1], at: place), book.gaveUp(tickets[1], at: place)]
        #expect(leaving == [2, nil])
        let first = book.ended(at: place)
        let late = book.gaveUp(tickets[0], at: place)
        #expect(first == 1 && late == nil)
        let next = [book.ended(at: place), book.ended(at: place), book.ended(at: place)]
        #expect(next == [3, nil, nil])
        let again = [book.begin(at: place), book.begin(at: place), book.begin(at: place)]
        #expect(again == [true, true, false])
    }

    @Test func onlyTheUsersOwnConnectionsOfTheSessionAreTaken() {
        var book = begun(1)
        _ = book.keep(idle(1), at: place)
        let changed = Credential(user: "ann", password: Redacted("other"))
        let others = [
            book.takeIdle(Self.bob, at: place), book.takeIdle(changed, at: place), book.takeIdle(Self.ann, at: other),
        ]
        #expect(others.allSatisfy { $0 == nil })
        let own = [book.takeIdle(Self.ann, at: place)?.number, book.takeIdle(Self.ann, at: place)?.number]
        #expect(own == [1, nil])
    }

    @Test func theLatestIsTakenAndTheOldestIsClosed() {
        var book = begun(2)
        let none = book.keep(idle(1), at: place) + book.keep(idle(2), at: place)
        let closed = book.keep(idle(3), at: place)
        #expect(none.isEmpty, "those that are kept count as in use until their loads have ended")
        #expect(closed.map(\.number) == [1])
        let taken = book.takeIdle(Self.ann, at: place)
        #expect(taken?.number == 3)
    }

    @Test func aNewConnectionTakesThePlaceOfOneThatIdles() {
        var book = LeaseBook<Int>()
        _ = book.keep(idle(1, Self.bob), at: place) + book.keep(idle(2, Self.bob), at: place)
        for number: UInt64 in [1, 2] {
            _ = book.begin(at: place)
            let closed = book.makeRoom(at: place)
            #expect(closed.map(\.number) == [number])
        }
    }

    @Test func oneMoreThanAreKeptOfAllSessionsClosesTheOldest() {
        var book = LeaseBook<Int>()
        for number in 0...LeaseBook<Int>.limit {
            let closed = book.keep(idle(UInt64(number)), at: ConnectionPlace(session: "\(number)", limit: 1))
            #expect(closed.map(\.number) == (number == LeaseBook<Int>.limit ? [0] : []))
        }
    }

    @Test func forgottenConnectionsAreClosed() {
        var book = LeaseBook<Int>()
        _ = book.keep(idle(1), at: place) + book.keep(idle(2, Self.bob), at: place)
        let closed = [book.forget(Self.ann), book.end(), book.keep(idle(3), at: place)]
        #expect(closed.map { $0.map(\.number) } == [[1], [2], [3]], "and nothing is kept after the end")
    }

    // MARK: Leases

    private func take(_ leases: ConnectionLeases, isFresh: Bool = false) async throws -> ConnectionLease {
        try await leases.take(for: Self.ann, at: place, isFresh: isFresh, until: .now + .seconds(20))
    }

    @Test func aLeaseThatWasKeptComesBackAndNoOther() async throws {
        let leases = ConnectionLeases()
        var lease: ConnectionLease? = try await take(leases)
        #expect(lease?.known == nil)
        let number = lease?.connection.number
        lease?.keep(as: 7)
        lease = nil
        let again = try await take(leases)
        #expect(again.known == 7 && again.connection.number == number)
        let fresh = try await take(leases, isFresh: true)
        #expect(fresh.known == nil)
    }

    @Test(.timeLimit(.minutes(1))) func anEndedLeaseGoesToAWaiter() async throws {
        let leases = ConnectionLeases()
        var held: [ConnectionLease] = [try await take(leases), try await take(leases)]
        async let third = take(leases)
        async let fourth = take(leases)
        try await Task.sleep(for: .milliseconds(20))
        held[0].keep(as: 3)
        held.removeAll()
        let got = try await [third, fourth]
        #expect(got.compactMap(\.known) == [3])
    }

    @Test(.timeLimit(.minutes(1))) func theDeadlineAndACancellationEndTheWaiting() async throws {
        let leases = ConnectionLeases()
        var held: [ConnectionLease] = [try await take(leases), try await take(leases)]
        let late = await #expect(throws: LoadError.self) {
            _ = try await leases.take(for: Self.ann, at: place, isFresh: false, until: .now + .milliseconds(20))
        }
        #expect(late?.code == .resourceTimeout)
        let task = Task { try await take(leases) }
        try await Task.sleep(for: .milliseconds(20))
        task.cancel()
        let cancelled = await #expect(throws: LoadError.self) { _ = try await task.value }
        #expect(cancelled?.code == .cancelled)
        held.removeAll()
        held = [try await take(leases), try await take(leases)]
        #expect(held.count == 2, "no place was lost")
    }
}
