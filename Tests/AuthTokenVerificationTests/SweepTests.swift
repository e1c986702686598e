import Testing

@testable import SallyportAuthTokenVerification

/// When a memory looks at all of its entries.
struct SweepTests {
    @Test func aMemoryThatIsFullOfWhatCountsLooksAtNothing() {
        var sweeps = Sweeps()
        for expiry in [30, 20, 40] as [Int64] { sweeps.added(expiry) }
        #expect(!sweeps.isDue(3, of: 3, at: 19) && sweeps.isDue(3, of: 3, at: 20))
        sweeps.swept(leaving: [30, 40] as [Int64])
        #expect(!sweeps.isDue(3, of: 3, at: 29) && sweeps.isDue(3, of: 3, at: 30))
        sweeps.swept(leaving: [Int64]())
        #expect(!sweeps.isDue(3, of: 3, at: Int64.max - 1))
        sweeps.added(50)
        #expect(sweeps.isDue(3, of: 3, at: 50))
    }

    @Test func oneThatIsNotFullLooksWhenItHasDoubled() {
        var sweeps = Sweeps()
        sweeps.added(10)
        #expect(!sweeps.isDue(1023, of: 10_000, at: 10) && sweeps.isDue(1024, of: 10_000, at: 10))
        sweeps.swept(leaving: [Int64](repeating: 20, count: 1_000))
        #expect(!sweeps.isDue(1_999, of: 10_000, at: 20) && sweeps.isDue(2_000, of: 10_000, at: 20))
        #expect(sweeps.isDue(1_500, of: 1_500, at: 20))
    }

    @Test func aFullMemoryTakesMoreAsSoonAsOneEntryIsOver() async throws {
        var book = ChallengeBook(limit: 3)
        for (number, expiry) in [30, 20, 40].enumerated() {
            #expect(book.use("\(number)", by: "t", until: Int64(expiry), isOver: false, at: 0) == .first)
        }
        #expect(book.use("late", by: "t", until: 60, isOver: false, at: 19) == nil)
        #expect(book.use("late", by: "t", until: 60, isOver: false, at: 20) == .first)
        #expect(book.use("later", by: "t", until: 60, isOver: false, at: 29) == nil)
        #expect(book.use("later", by: "t", until: 60, isOver: false, at: 30) == .first)
        #expect(book.places == 3)
    }
}
