internal import FoundationEssentials

/// Looks for objects and descriptors that outlive the loads: writers, handler objects, descriptors.
struct Leaks {
    /// A handler that leaks a descriptor with each load leaks one for each load. Differences of up to half as many may
    /// come from a test that runs at the same time, or from connections that are kept open.
    private static let loads = 64
    private static let allowed = loads / 2

    let trials: Trials

    func check(_ sample: SampleRequest?) async {
        if let sample { await checkDescriptors(sample) }
        if await !trials.waits(for: { await trials.ledger.isEmpty }) { await trials.ledger.reportRemains() }
    }

    private func checkDescriptors(_ sample: SampleRequest) async {
        await checkDescriptors(sample, cancelAfter: nil)
        await checkDescriptors(sample, cancelAfter: 1)
    }

    private func checkDescriptors(_ sample: SampleRequest, cancelAfter: Int?) async {
        let before = Self.openDescriptors
        for _ in 0..<Self.loads {
            let recorder = await trials.start(sample, cancelAfter: cancelAfter)
            guard await trials.end(of: recorder, sample) != nil else { return }
        }
        guard await !trials.waits(for: { Self.openDescriptors < before + Self.allowed }) else { return }
        let left = Self.openDescriptors - before
        let kind = cancelAfter == nil ? "loads" : "cancelled loads"
        trials.ledger.add(.keepsNothing, sample.name, "\(Self.loads) \(kind) left \(left) descriptors open.")
    }

    private static var openDescriptors: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
    }
}
