import Testing

@testable import SallyportEventLoop

/// When the thread's bell is rung.
@Suite struct WorkQueueTests {
    private var queue = WorkQueue()

    private mutating func rings() -> Bool { if case .ring = queue.enqueued(.closure {}) { true } else { false } }
    private mutating func falls() -> Bool { if case .asleep = queue.rest() { true } else { false } }
    private mutating func empty() {
        var batch: [WorkQueue.Item] = []
        queue.exchange(&batch)
    }

    @Test mutating func onlyTheFirstRingsForAThreadThatRests() {
        let whileAwake = rings()
        #expect(!whileAwake)
        empty()
        let rests = falls()
        #expect(rests)
        let (first, second) = (rings(), rings())
        #expect(first && !second)
    }

    /// What descriptors' handlers enqueue, above all for tasks on the loop.
    @Test mutating func aThreadWokenByADescriptorNeedsNoWakeUp() {
        let rests = falls()
        #expect(rests)
        let awoke = queue.awoke()
        #expect(awoke)
        let rang = rings()
        #expect(!rang)
        // It looks for items before it rests again.
        let restsOver = falls()
        #expect(!restsOver && queue.hasItems)
    }

    @Test mutating func onlyALoopThatRestsWithoutWorkIsBorrowed() {
        let whileAwake = queue.borrowed()
        #expect(!whileAwake)
        _ = falls()
        let first = queue.borrowed()
        let second = queue.borrowed()
        #expect(first && !second)
        let afterTurn = queue.givenBack(isDone: true)
        #expect(afterTurn == .none)
        let again = queue.borrowed()
        #expect(again)
    }

    @Test mutating func whatABorrowerLeavesWakesTheThread() {
        _ = (falls(), queue.borrowed())
        let rangForABorrower = rings()
        #expect(!rangForABorrower)
        let afterWork = queue.givenBack(isDone: true)
        #expect(afterWork == .ring)
        empty()
        _ = (falls(), queue.borrowed())
        let afterHalfATurn = queue.givenBack(isDone: false)
        #expect(afterHalfATurn == .ring)
        let awoke = queue.awoke()
        #expect(awoke)
    }

    @Test mutating func aThreadThatAwakesWaitsForTheBorrowersTurn() {
        _ = (falls(), queue.borrowed())
        let awoke = queue.awoke()
        #expect(!awoke)
        let afterTurn = queue.givenBack(isDone: true)
        #expect(afterTurn == .handOver)
        let awokeAgain = queue.awoke()
        let isBorrowed = queue.borrowed()
        #expect(awokeAgain && !isBorrowed)
    }
}
