internal import SallyportBase

/// What all loads of a run found, and what must not outlive them.
final class Ledger: Sendable {
    private struct State {
        var violations: [Violation] = []
        var loads = 0
        var notTried: [String] = []
        var remains: [Remain] = []
    }

    /// Something that is gone once its load is over.
    private struct Remain: Sendable {
        weak let object: (any AnyObject & Sendable)?
        let what: String
        let sample: String
    }

    private let state = Lock(State())

    func add(_ rule: Rule, _ sample: String?, _ detail: String) {
        state.withLock { state in
            guard !state.violations.contains(where: { $0.rule == rule && $0.sample == sample }) else { return }
            state.violations.append(Violation(rule: rule, sample: sample, detail: detail))
        }
    }

    func countLoad() { state.withLock { $0.loads += 1 } }

    func leaveOut(_ what: String) { state.withLock { $0.notTried.append(what) } }

    func expectRelease(of object: any AnyObject & Sendable, _ what: String, _ sample: String) {
        state.withLock { $0.remains.append(Remain(object: object, what: what, sample: sample)) }
    }

    /// Whether all that was to be released is gone.
    var isEmpty: Bool {
        state.withLock { state in
            state.remains.removeAll { $0.object == nil }
            return state.remains.isEmpty
        }
    }

    func reportRemains() {
        for remain in state.withLock({ $0.remains }) where remain.object != nil {
            add(.keepsNothing, remain.sample, "\(remain.what) outlives the load.")
        }
    }

    var report: ConformanceReport {
        state.withLock { ConformanceReport(violations: $0.violations, loads: $0.loads, notTried: $0.notTried) }
    }
}
