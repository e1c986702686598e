import Glibc
import SallyportEventLoop
import Testing

struct BriefWaitTests {
    @Test func itIsWorthwhileAfterQuickAnswersInARow() {
        var wait = BriefWait(limit: .microseconds(100))
        for time in [100, 1, 50] {
            wait.answered(after: .microseconds(time))
            #expect(!wait.isWorthwhile)
        }
        wait.answered(after: .zero)
        #expect(wait.isWorthwhile)
        wait.answered(after: .zero)
        #expect(wait.isWorthwhile)
    }

    @Test func oneSlowAnswerEndsIt() {
        var wait = BriefWait(limit: .microseconds(100))
        for _ in 0..<9 { wait.answered(after: .zero) }
        wait.answered(after: .microseconds(101))
        #expect(!wait.isWorthwhile)
        for _ in 0..<3 { wait.answered(after: .zero) }
        #expect(!wait.isWorthwhile)
        wait.answered(after: .zero)
        #expect(wait.isWorthwhile)
    }

    @Test func aWaitEndsWithItsTimeWithBytesAndWithTheConnection() {
        var ends: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        let time = ContinuousClock().measure { #expect(!BriefWait(limit: .milliseconds(20)).wait(for: ends[0])) }
        #expect(time >= .milliseconds(20))
        let wait = BriefWait(limit: .milliseconds(900))
        #expect(write(ends[1], "a", 1) == 1)
        #expect(wait.wait(for: ends[0]))
        #expect(shutdown(ends[1], Int32(SHUT_WR)) == 0)
        #expect(!wait.wait(for: ends[0]))
    }
}
