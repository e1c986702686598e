import Glibc
import SallyportEventLoop
import Testing

struct BriefWaitTests {
    private let wait = BriefWait(.chosen)

    private func answers(_ count: Int, after microseconds: Int64 = 0) {
        let start = LoopInstant.now
        for _ in 0..<count { wait.answered(at: start.advanced(byNanoseconds: microseconds * 1_000), since: start) }
    }

    @Test func itIsWorthwhileAfterSixteenQuickAnswers() {
        answers(15, after: 200)
        #expect(!wait.isWorthwhile)
        answers(1)
        #expect(wait.isWorthwhile)
    }

    @Test(arguments: [
        // One for each 10 µs.
        (300, 30), (1_000, 100),
        // No more than the longest wait.
        (4_000, 400), (60_000_000, 400),
    ])
    func aSlowAnswerIsMadeUpForByQuickOnes(_ microseconds: Int64, _ quickOnes: Int) {
        answers(16)
        answers(1, after: microseconds)
        #expect(!wait.isWorthwhile)
        answers(quickOnes - 1)
        #expect(!wait.isWorthwhile)
        answers(1)
        #expect(wait.isWorthwhile)
    }

    @Test func slowAnswersInARowAreMadeUpForLikeOne() {
        answers(9, after: 4_000)
        answers(415)
        #expect(!wait.isWorthwhile)
        answers(1)
        #expect(wait.isWorthwhile)
    }

    @Test func muchPatienceIsNotSavedUp() {
        answers(10_000)
        answers(1, after: 480)
        #expect(wait.isWorthwhile)
        answers(1, after: 201)
        #expect(!wait.isWorthwhile)
    }

    @Test func aWaitEndsWithItsTimeWithBytesAndWithTheConnection() {
        var ends: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        let short = BriefWait.Limits(both: .milliseconds(20))
        let time = ContinuousClock().measure { #expect(!short.wait(for: ends[0])) }
        #expect(time >= .milliseconds(20))
        let long = BriefWait.Limits(both: .milliseconds(900))
        #expect(write(ends[1], "a", 1) == 1)
        #expect(long.wait(for: ends[0]))
        #expect(shutdown(ends[1], Int32(SHUT_WR)) == 0)
        #expect(!long.wait(for: ends[0]))
    }
}
