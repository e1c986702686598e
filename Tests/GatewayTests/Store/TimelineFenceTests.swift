#if PostgreSQL
import Testing

@testable import SallyportPostgreSQL

@Suite struct TimelineFenceTests {
    @Test func anOldPrimaryIsNotUsedOnceANewerOneWasSeen() {
        var fence = TimelineFence()
        let first = fence.admits(4)
        let again = fence.admits(4)
        let promoted = fence.admits(5)
        let old = fence.admits(4)
        #expect(first && again && promoted && !old && fence.newest == 5)
    }

    @Test func aServerThatDoesNotTellIsUsed() {
        var fence = TimelineFence()
        _ = fence.admits(5)
        let untold = fence.admits(nil)
        #expect(untold && fence.newest == 5)
    }

    @Test(arguments: [
        ("000000010000000000000005", 1), ("0000001F00000000000000AB", 31), ("FFFFFFFF0000000000000001", UInt32.max),
    ])
    func theTimelineIsTheBeginOfASegmentsName(name: String, timeline: UInt32) {
        #expect(TimelineFence.timeline(ofSegment: name) == timeline)
    }

    @Test(arguments: ["", "00000001", "0000000100000000000000050", "x00000010000000000000005"])
    func anotherTextHasNoTimeline(text: String) { #expect(TimelineFence.timeline(ofSegment: text) == nil) }
}
#endif
