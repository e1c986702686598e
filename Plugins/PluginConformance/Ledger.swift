internal import SallyportBase

/// The findings of all loads of a run, and the objects that must not outlive them.
actor Ledger {
    /// An object that must be released once its load has ended.
    private struct Remain: Sendable {
        weak let object: (any AnyObject & Sendable)?
        let what: String
        let sample: String
    }

    /// A stream, since findings in a handler's synchronous calls are recorded without waiting.
    private let findings: AsyncStream<Violation>
    private nonisolated let finding: AsyncStream<Violation>.Continuation
    private var loads = 0
    private var notTried: [String] = []
    private var remains: [Remain] = []

    init() { (findings, finding) = AsyncStream.makeStream() }

    /// For each rule and sample, the first finding is reported.
    nonisolated func add(_ rule: Rule, _ sample: String?, _ detail: String) {
        finding.yield(Violation(rule: rule, sample: sample, detail: detail))
    }

    func countLoad() { loads += 1 }

    func leaveOut(_ what: String) { notTried.append(what) }

    func expectRelease(of object: any AnyObject & Sendable, _ what: String, _ sample: String) {
        remains.append(Remain(object: object, what: what, sample: sample))
    }

    /// Whether all these objects were released.
    var isEmpty: Bool {
        remains.removeAll { $0.object == nil }
        return remains.isEmpty
    }

    func reportRemains() {
        for remain in remains where remain.object != nil {
            add(.keepsNothing, remain.sample, "\(remain.what) outlives the load.")
        }
    }

    /// Returns the findings; later ones are ignored.
    func close() async -> ConformanceReport {
        finding.finish()
        var violations: [Violation] = []
        for await new in findings
        where !violations.contains(where: { $0.rule == new.rule && $0.sample == new.sample }) {
            violations.append(new)
        }
        return ConformanceReport(violations: violations, loads: loads, notTried: notTried)
    }
}
