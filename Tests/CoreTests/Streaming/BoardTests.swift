import SallyportBase
import Testing

struct BoardTests {
    @Test func valuesBeginWithThePresentOne() async {
        let board = Board<Int>()
        var early = board.values().makeAsyncIterator()
        board.set(1)
        #expect(await early.next() == 1)
        var late = board.values().makeAsyncIterator()
        #expect(await late.next() == 1)
        board.finish()
        #expect(await early.next() == nil)
        var last = board.values().makeAsyncIterator()
        #expect(await last.next() == 1)
        #expect(await last.next() == nil)
    }

    @Test func anEqualValueIsNotBroadcast() async {
        let board = Board(1)
        var values = board.values().makeAsyncIterator()
        #expect(await values.next() == 1)
        board.set(1)
        board.set(2)
        #expect(await values.next() == 2)
    }

    @Test(arguments: 0..<20)
    func ofConcurrentBroadcastsTheNewestIsSeenLast(_ round: Int) async {
        let board = Board(0)
        let values = board.values()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { for _ in 0..<500 { board.change { $0 = ($0 ?? 0) + 1 } } }
            }
        }
        board.finish()
        var last = 0
        for await value in values { last = value }
        #expect(last == 2000)
    }

    @Test func aReleasedStreamIsForgotten() async {
        let followers = Followers<Int>()
        do { _ = followers.follow(buffering: .unbounded) }
        var kept = followers.follow(buffering: .unbounded).makeAsyncIterator()
        followers.tell(5)
        #expect(await kept.next() == 5)
        followers.finish()
        #expect(await kept.next() == nil)
        var late = followers.follow(buffering: .unbounded).makeAsyncIterator()
        #expect(await late.next() == nil)
    }
}
