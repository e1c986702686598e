import Logging
import SallyportConnecting
import SallyportCore
import Testing

/// How long answers may take to what a handshake asks.
struct ConnectionQuestionsTests {
    private let opening = ContinuousClock.now

    private func questions(until limit: ContinuousClock.Instant? = nil) -> ConnectionQuestions {
        ConnectionQuestions(
            principal: .instance, within: .seconds(60), until: limit, from: opening, logger: Logger(label: "test"))
    }

    @Test func theTimeForAnswersBeginsAnewWithALaterHandshake() {
        let questions = questions()
        #expect(questions.deadline == opening + .seconds(60))
        // The opening took nearly all of its time.
        let later = questions.renewed(until: nil, from: opening + .seconds(59))
        #expect(later.deadline == opening + .seconds(119))
        #expect(later.renewed(until: nil, from: opening + .seconds(200)).deadline == opening + .seconds(260))
    }

    @Test func noAnswerMayTakeLongerThanTheStreamMayLast() {
        let end = opening + .seconds(90)
        #expect(questions(until: opening + .seconds(5)).deadline == opening + .seconds(5))
        let questions = questions(until: end)
        #expect(questions.deadline == opening + .seconds(60))
        #expect(questions.renewed(until: end, from: opening + .seconds(59)).deadline == end)
    }
}
