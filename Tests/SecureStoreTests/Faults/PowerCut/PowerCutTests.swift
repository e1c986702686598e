import StoreWorkload
import Testing

@testable import SallyportSecureStore

/// Every change that a process makes to a store's files is recorded, and the store is opened in the states that a disk
/// may leave when the power is cut at any instant: with the same promise as after a kill.
@Suite struct PowerCutTests {
    struct Scenario: Sendable, CustomTestStringConvertible {
        let name: String
        let workloads: [Workload]
        /// How many states of each instant.
        let variants: Int
        /// Every how many instants.
        var stride = 1
        var testDescription: String { name }

        static let all = [
            Scenario(
                name: "write", workloads: [Workload(writer: 0), Workload(writer: 1)], variants: Soak.cases(2, of: 5)),
            Scenario(name: "rotate", workloads: [Workload(writer: 0)], variants: Soak.cases(2, of: 5)),
            Scenario(name: "wipe", workloads: [Workload(writer: 0)], variants: Soak.cases(4, of: 10)),
            Scenario(name: "restore", workloads: [Workload(writer: 0)], variants: Soak.cases(2, of: 8)),
            Scenario(name: "compact", workloads: [Workload(writer: 0)], variants: Soak.cases(2, of: 8)),
            // A file of 28 MB: few of its states.
            Scenario(
                name: "growth", workloads: [Workload(writer: 2, longest: 400_000)], variants: 1,
                stride: Soak.cases(20, of: 2)),
        ]
    }

    @Test(arguments: Scenario.all)
    func afterAPowerCutEveryAcknowledgedWriteIsThereAndNoneIsHalfThere(scenario: Scenario) async throws {
        let fixture = try StoreFixture()
        let recording = try Recording(of: scenario.name, in: fixture)
        let replay = Replay(recording, scenario.workloads, seed: 11)
        try await replay.run(variants: scenario.variants, stride: scenario.stride)
        print("states: \(scenario.name) \(replay.states) of \(recording.entries.count) instants")
        #expect(replay.violations.isEmpty, "\(replay.violations.count): \(replay.violations.prefix(5))")
        #expect(replay.states > recording.entries.count / scenario.stride / 3)
    }

    /// That the replay can fail: LMDB that does not sync, and keys that are not.
    @Test(arguments: ["nosync", "keysync"])
    func withoutItsSyncsAStoreLosesWhatItPromised(fault: String) async throws {
        let fixture = try StoreFixture()
        let recording = try Recording(of: "write", in: fixture, fault: fault)
        let replay = Replay(recording, [Workload(writer: 0), Workload(writer: 1)], seed: 11, walksFirst: true)
        try await replay.run(variants: 1, stride: 3)
        print("states: with \(fault), \(replay.violations.count) of \(replay.states) break the promise")
        #expect(!replay.violations.isEmpty)
    }
}
