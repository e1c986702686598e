import SallyportLoading
import Testing

struct PhasesTests {
    private func report(_ requestSent: Int, _ firstByte: Int, requestDone: Int?, end: Int) -> ExchangeReport {
        var report = ExchangeReport()
        report.timing.requestSent = .microseconds(requestSent)
        report.timing.firstByte = .microseconds(firstByte)
        report.requestDone = requestDone.map { .microseconds($0) }
        report.end = .microseconds(end)
        return report
    }

    @Test func phasesFollowOneAnother() {
        let phases = LoadRecord.Phases(report(100, 500, requestDone: 200, end: 900))
        #expect(phases.request == 0.0001 && phases.wait == 0.0003 && phases.response == 0.0004)
    }

    /// The two come from two clocks.
    @Test func anAnswerThatSeemsToComeBeforeTheRequestIsDoneWasNotWaitedFor() {
        let phases = LoadRecord.Phases(report(100, 500, requestDone: 503, end: 900))
        #expect(phases.request == 0.0004 && phases.wait == 0 && phases.response == 0.0004)
    }

    @Test func aRequestThatSeemsToBeDoneBeforeItBeganTookNoTime() {
        let phases = LoadRecord.Phases(report(100, 500, requestDone: 98, end: 900))
        #expect(phases.request == 0 && phases.wait == 0.0004)
    }

    @Test func skippedPhasesHaveNoTime() {
        let phases = LoadRecord.Phases(report(100, 0, requestDone: 200, end: 900))
        #expect(phases.request == 0.0001 && phases.wait == nil && phases.response == nil && phases.connect == nil)
    }
}
