/// The questions of a relay whether there is news, numbered in their order. A value.
///
/// A report to a gateway asks the newest one, and its answer answers all that were asked before the report was made.
struct Questions {
    struct Answer: Sendable, Equatable {
        /// The newest question that is answered.
        var question: Int64
        /// What a gateway had reached after it was asked.
        var revision: Int64

        func merged(with other: Answer?) -> Answer {
            guard let other else { return self }
            return Answer(question: max(question, other.question), revision: max(revision, other.revision))
        }
    }

    private var newest: Int64 = 0
    /// By the gateway's address: the newest question when the last report that asks was made.
    private var asked: [String: Int64] = [:]

    /// - Returns: the question's number.
    mutating func ask() -> Int64 {
        newest += 1
        return newest
    }

    /// - Parameter answer: the last one of any gateway.
    /// - Returns: whether the report that is made now has to ask.
    mutating func asks(_ gateway: String, after answer: Answer?) -> Bool {
        guard newest > answer?.question ?? 0 else { return false }
        asked[gateway] = newest
        return true
    }

    /// The last report that asked was answered.
    func answered(by gateway: String, reached revision: Int64) -> Answer {
        Answer(question: asked[gateway] ?? 0, revision: revision)
    }
}
