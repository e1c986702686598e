/// How many answers ended in which verdict.
package struct AnswerTally: CustomStringConvertible {
    private var all = 0
    private var acceptedByAll = 0
    private var known: [KnownDifference: Int] = [:]
    private var acceptedWithKnown = 0
    private var refused = [0, 0, 0]
    package private(set) var findings = 0

    package init() {}

    /// - Returns: whether it is a finding.
    package mutating func count(_ verdict: AnswerComparison.Verdict) -> Bool {
        all += 1
        switch verdict {
        case .acceptedByAll: acceptedByAll += 1
        case .known(let differences):
            acceptedWithKnown += 1
            for difference in differences { known[difference, default: 0] += 1 }
        case .refusedByOurs(let accepted): refused[accepted] += 1
        case .finding: findings += 1
        }
        return verdict.isFinding
    }

    package var description: String {
        var lines = [
            "\(all) answers",
            "\(acceptedByAll) accepted by all three, with the same meaning",
            "\(refused[2]) refused by ours only",
            "\(refused[1]) refused by ours and one other",
            "\(refused[0]) refused by all three",
            "\(acceptedWithKnown) accepted by ours, with a known difference:",
        ]
        lines += KnownDifference.allCases.map { "    \(known[$0] ?? 0) \($0)" }
        lines.append("\(findings) findings")
        return lines.joined(separator: "\n")
    }
}

extension AnswerComparison.Verdict {
    package var isFinding: Bool { if case .finding = self { true } else { false } }
}
