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
        queue.awoke()
        let rang = rings()
        #expect(!rang)
        // It looks for items before it rests again.
        let restsOver = falls()
        #expect(!restsOver && queue.hasItems)
    }
}
