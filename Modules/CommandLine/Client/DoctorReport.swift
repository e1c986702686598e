import SallyportReachability

/// What `doctor` prints.
struct DoctorReport: Encodable, Sendable {
    struct Line: Encodable, Sendable {
        /// `store`, `activation`, `certificate`, `configuration`, `lease`, `name`, `port`, `authority`, `clock`, `identity`,
        /// `status`, `names`, `relay` or `server`.
        let check: String
        /// `ok`, `warning`, `failed` or `skipped`.
        let outcome: String
        let message: String
        /// The recommended action.
        let advice: String?
    }

    /// Whether nothing failed.
    let sound: Bool
    let findings: [Line]
    /// The program's exit status; nil if nothing failed.
    let failure: CommandFailure?

    private enum CodingKeys: CodingKey { case sound, findings }

    init(_ found: [Finding]) {
        findings = found.map { finding in
            Line(
                check: finding.check.rawValue, outcome: finding.outcome.rawValue, message: OneLine.of(finding.message),
                advice: finding.advice.map(OneLine.of))
        }
        let first = found.first { $0.outcome == .failed }
        failure = first.map { finding in
            CommandFailure(
                ExitStatus(finding.trouble), name: finding.check.rawValue, finding.message, hint: finding.advice)
        }
        sound = first == nil
    }

    private static let advice =
        "see that --store names the app's store, and that its key is the one with which it was made"

    init(cannotOpen failure: CommandFailure) {
        self.failure = failure
        sound = false
        findings = [
            Line(
                check: Finding.Check.store.rawValue, outcome: Finding.Outcome.failed.rawValue,
                message: OneLine.of(failure.message), advice: failure.hint ?? Self.advice)
        ]
    }

    var text: String {
        findings.map { line in
            let mark =
                switch line.outcome {
                case "ok": "ok     "
                case "warning": "warning"
                case "failed": "FAILED "
                default: "-      "
                }
            let name = line.check + String(repeating: " ", count: max(0, 13 - line.check.count))
            let advice = line.advice.map { "\n                       what to do: \($0)" } ?? ""
            return "\(mark) \(name)  \(line.message)\(advice)"
        }
        .joined(separator: "\n")
    }
}

extension ExitStatus {
    init(_ trouble: Finding.Trouble?) {
        self =
            switch trouble {
            case .usage: .usage
            case .unreachable: .unavailable
            case .store: .inputOutput
            case .protocolError: .protocolError
            case .notAuthorized: .notAuthorized
            case nil: .software
            }
    }
}
