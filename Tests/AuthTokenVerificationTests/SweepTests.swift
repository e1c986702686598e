import Testing

@testable import SallyportAuthTokenVerification

/// When a memory looks at all of its entries.
struct SweepTests {
    @Test func aMemoryThatIsFullOfWhatCountsLooksAtNothing() {
        var sweeps = Sweeps()
        var entries: [String: Int64] = ["a": 30, "b": 20, "c": 40]
        for expiry in entries.values { sweeps.added(expiry) }
        #expect(!sweeps.isDue(3, of: 3, at: 19) && sweeps.isDue(3, of: 3, at: 20))
        sweeps.drop(from: &entries, at: 20) { $0 }
        #expect(entries == ["a": 30, "c": 40])
        #expect(!sweeps.isDue(3, of: 3, at: 29) && sweeps.isDue(3, of: 3, at: 30))
        sweeps.drop(from: &entries, at: 40) { $0 }
        #expect(entries.isEmpty && !sweeps.isDue(3, of: 3, at: Int64.max - 1))
        sweeps.added(50)
        #expect(sweeps.isDue(3, of: 3, at: 50))
    }

    @Test func oneThatIsNotFullLooksWhenItHasDoubled() {
        var sweeps = Sweeps()
        sweeps.added(10)
        #expect(!sweeps.isDue(1023, of: 10_000, at: 10) && sweeps.isDue(1024, of: 10_000, at: 10))
        var entries = Dictionary(uniqueKeysWithValues: (0..<1_000).map { ("\($0)", Int64(20)) })
        sweeps.drop(from: &entries, at: 10) { $0 }
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

    @Test func aUseThatWasForgottenWhileTheClockWasAheadIsNotTheFirst() {
        var book = ChallengeBook(limit: 2)
        for name in ["a", "b"] { #expect(book.use(name, by: "t", until: 60, isOver: false, at: 0) == .first) }
        #expect(book.use("ahead", by: "t", until: 1_060, isOver: false, at: 1_000) == .first)
        #expect(book.use("a", by: "t", until: 60, isOver: false, at: 10) == .unknown)
        #expect(book.use("new", by: "t", until: 70, isOver: false, at: 10) == .first)
    }
}
