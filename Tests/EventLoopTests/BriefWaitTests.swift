import Glibc
import SallyportEventLoop
import Testing

struct BriefWaitTests {
    private final class Peer {
        private let wait = BriefWait(.chosen)

        var isWaitedFor: Bool { wait.isWorthwhile }

        func answers(_ count: Int, after microseconds: Int64 = 0) {
            let start = LoopInstant.now
            for _ in 0..<count { wait.answered(at: start.advanced(byNanoseconds: microseconds * 1_000), since: start) }
        }
    }

    private let peer = Peer()

    @Test func itIsWorthwhileAfterSixteenQuickAnswers() {
        peer.answers(15, after: 200)
        #expect(!peer.isWaitedFor)
        peer.answers(1)
        #expect(peer.isWaitedFor)
    }

    @Test(arguments: [
        // One for each 10 µs.
        (300, 30), (1_000, 100),
        // No more than the longest wait.
        (4_000, 400), (60_000_000, 400),
    ])
    func aSlowAnswerIsMadeUpForByQuickOnes(_ microseconds: Int64, _ quickOnes: Int) {
        peer.answers(16)
        peer.answers(1, after: microseconds)
        #expect(!peer.isWaitedFor)
        peer.answers(quickOnes - 1)
        #expect(!peer.isWaitedFor)
        peer.answers(1)
        #expect(peer.isWaitedFor)
    }

    @Test func slowAnswersInARowAreMadeUpForLikeOne() {
        peer.answers(9, after: 4_000)
        peer.answers(415)
        #expect(!peer.isWaitedFor)
        peer.answers(1)
        #expect(peer.isWaitedFor)
    }

    @Test func muchPatienceIsNotSavedUp() {
        peer.answers(10_000)
        peer.answers(1, after: 480)
        #expect(peer.isWaitedFor)
        peer.answers(1, after: 201)
        #expect(!peer.isWaitedFor)
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
