/// The health of a gateway's parts: each is looked at by a task of its own, and a client is told what was found last.
/// So a part that hangs delays no answer, and asking costs nothing, however often it is done.
actor Health {
    /// The time between two looks at a part.
    private let interval: Duration
    /// The time after which a part that did not answer counts as failed.
    private let patience: Duration
    private let parts: [HealthPart]
    private var findings: [String: (finding: HealthFinding, at: ContinuousClock.Instant)] = [:]
    private var began: ContinuousClock.Instant?

    init(_ parts: [HealthPart], interval: Duration = .seconds(2), patience: Duration = .seconds(10)) {
        (self.parts, self.interval, self.patience) = (parts, interval, patience)
    }

    /// Looks at all parts until the task is cancelled.
    func run() async {
        began = .now
        await withDiscardingTaskGroup { group in
            for part in parts {
                group.addTask { await self.watch(part) }
            }
        }
    }

    private func watch(_ part: HealthPart) async {
        while !Task.isCancelled {
            let finding = await part.check()
            findings[part.name] = (finding, .now)
            try? await Task.sleep(for: interval)
        }
    }

    /// All parts as they stand now, in their order.
    func states() -> [HealthState] {
        let now = ContinuousClock.now
        return parts.map { HealthState(name: $0.name, finding: finding(of: $0, at: now)) }
    }

    private func finding(of part: HealthPart, at now: ContinuousClock.Instant) -> HealthFinding {
        let last = findings[part.name]
        guard let since = last?.at ?? began, since.duration(to: now) > patience else {
            return last?.finding ?? .notReady("It has not started yet.")
        }
        return .failed("It does not answer.")
    }
}
