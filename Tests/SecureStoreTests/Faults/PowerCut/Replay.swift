import FoundationEssentials
import Glibc
import StoreWorkload

@testable import SallyportSecureStore

/// Opens the store in states that a power cut may leave, and looks for what was promised.
final class Replay {
    private let recording: Recording
    private let workloads: [Workload]
    private var random: SeededGenerator
    private let directory: String
    private let walksFirst: Bool
    private var seen: Set<Int> = []
    private var models: [Int: [[Int64: [UInt8]]]] = [:]

    private(set) var states = 0
    private(set) var violations: [String] = []

    /// - Parameter walksFirst: whether the pages are walked before the store is opened, for recordings without syncs: their
    ///   states have pages of which LMDB itself, which trusts them, may end the process.
    init(_ recording: Recording, _ workloads: [Workload], seed: UInt64, walksFirst: Bool = false) {
        (self.recording, self.workloads, self.walksFirst) = (recording, workloads, walksFirst)
        random = SeededGenerator(seed: seed)
        // In memory: what is replayed needs no disk.
        directory = "/dev/shm/sallyport-cut-\(UUID().uuidString)"
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    /// - Parameters:
    ///   - variants: how many states of each instant.
    ///   - stride: every how many instants.
    func run(variants: Int, stride step: Int = 1) async throws {
        let disk = SimulatedDisk(root: recording.root)
        var expectation = Expectation()
        for (index, entry) in recording.entries.enumerated() {
            if index % step == 0 {
                for variant in 0..<variants {
                    let all = SimulatedDisk.Survival.allCases
                    let survival = all[(index / step * variants + variant) % all.count]
                    let state = disk.state(survival, inFlight: entry, &random)
                    try await check(state, expectation, "entry \(index), \(survival)")
                }
            }
            // What is said is true from the next instant on.
            disk.apply(entry)
            expectation.observe(entry)
        }
        try await check(disk.state(.nothing, inFlight: nil, &random), expectation, "the end")
    }

    private func check(_ state: SimulatedDisk.State, _ expectation: Expectation, _ title: String) async throws {
        var hasher = Hasher()
        for (path, content) in state.sorted(by: { $0.key < $1.key }) {
            hasher.combine(path)
            content?.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
        guard seen.insert(hasher.finalize()).inserted else { return }
        states += 1
        try lay(state)
        if let violation = await violation(of: expectation) { violations.append("\(title): \(violation)") }
    }

    private func lay(_ state: SimulatedDisk.State) throws {
        try? FileManager.default.removeItem(atPath: directory)
        guard mkdir(directory, 0o700) == 0 else { throw Child.Failure(description: "No \(directory).") }
        for (path, content) in state.sorted(by: { $0.key < $1.key }) {
            guard let content else {
                mkdir("\(directory)/\(path)", 0o700)
                continue
            }
            let file = open("\(directory)/\(path)", O_WRONLY | O_CREAT, 0o600)
            defer { close(file) }
            var bytes = content
            // LMDB's table of readers is mapped and never flushed.
            if path.hasSuffix("lock.mdb") { bytes = garbage(bytes.count) }
            guard write(file, bytes, bytes.count) == bytes.count else {
                throw Child.Failure(description: "\(directory) is full.")
            }
        }
    }

    private func garbage(_ count: Int) -> [UInt8] {
        var bytes = (0..<64).map { _ in UInt8.random(in: 0...255, using: &random) }
        while bytes.count < count { bytes += bytes }
        return Array(bytes.prefix(count))
    }

    /// The first finding of a walk through the pages, if there is a data file.
    private func damage() throws -> String? {
        guard walksFirst, let file = try? PageFile("\(directory)/store/\(Environment.fileName)") else { return nil }
        let findings = try StoreCheck.run(file, ring: nil).findings
        return findings.first { $0.kind != .lostPages }.map { "pages: \($0)" }
    }

    private func violation(of expectation: Expectation) async -> String? {
        do {
            if let damage = try damage() { return damage }
            let options = expectation.isMade ? StoreOptions.existing : StoreOptions()
            let store = try await SecureStore.open(
                at: "\(directory)/store", protectedBy: .keyFile("\(directory)/key"), options: options)
            defer { store.close() }
            if expectation.mustBeWiped { return "A wiped store opens." }
            for workload in workloads {
                if let violation = try violation(of: expectation, workload, in: store) { return violation }
            }
            // What the opening began, or where it had no reason to.
            var report = try await store.verificationAfterUncleanClose()
            if report == nil { report = try await store.verify() }
            if let finding = report?.findings.first { return "verify: \(finding)" }
            return try await violationOfGoingOn(store)
        } catch let error as StoreError where expectation.mayBeWiped && [.wiped, .notFound].contains(error.code) {
            return Files.exists("\(directory)/store/keys") ? "A wiped store has keys." : nil
        } catch {
            return "\(error)"
        }
    }

    private func violation(
        of expectation: Expectation, _ workload: Workload, in store: SecureStore
    ) throws -> String? {
        let found = try workload.transactions(in: store)
        guard expectation.allows(found, of: workload.writer) else {
            return "\(found) transactions where \(expectation.bounds[workload.writer] ?? 0...0) were said."
        }
        guard try workload.content(of: store) == model(workload, after: found) else {
            return "\(found) transactions, and other records."
        }
        return nil
    }

    /// A store that opens can be written, one time in four.
    private func violationOfGoingOn(_ store: SecureStore) async throws -> String? {
        guard states % 4 == 0, let workload = workloads.first else { return nil }
        let next = try workload.transactions(in: store) + 1
        try await workload.perform(next, in: store)
        guard try workload.content(of: store) == model(workload, after: next) else { return "It does not go on." }
        return try await store.verify().findings.first.map { "verify, after going on: \($0)" }
    }

    private func model(_ workload: Workload, after transactions: Int) -> [Int64: [UInt8]] {
        var known = models[workload.writer] ?? [[:]]
        while known.count <= transactions {
            var content = known[known.count - 1]
            workload.apply(known.count, to: &content)
            known.append(content)
        }
        models[workload.writer] = known
        return known[transactions]
    }
}
