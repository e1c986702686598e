import Foundation
import TestSupport
import Testing

/// The demo notices what does not happen.
@Suite struct DemoTests {
    @Test func endsWellWhereNothingIsBroken() async throws {
        let outcome = try await demo(breaking: "")
        #expect(outcome.status == 0, "\(outcome.output)\(outcome.error)")
        #expect(outcome.output.contains("everything above happened"))
    }

    @Test(arguments: [
        ("relay", "fetch through the relay"), ("cache", "secure cache"), ("policy", "policy change"), ("wipe", "wipe"),
    ])
    func endsBadlyWhereAStepIsBroken(step: String, told: String) async throws {
        let outcome = try await demo(breaking: step)
        #expect(outcome.status == 1, "\(outcome.output)\(outcome.error)")
        #expect(outcome.error.contains("FAILED: \(told)"), "\(outcome.error)")
    }

    @Test func unknownStepIsRefused() async throws {
        #expect(try await demo(breaking: "everything").status == 64)
    }

    private func demo(breaking step: String) async throws -> Outcome {
        try await ChildProcess(
            Programs.repository.appending(path: "Examples/Demo/run").path, [Programs.directory.path],
            // A demo that is to fail need not load 64 MiB first.
            environment: ["BREAK": step].merging(step.isEmpty ? [:] : ["DEMO_ARCHIVE": "16777216"]) { $1 }
        ).outcome(within: .seconds(260))
    }
}

/// Likewise the demo of a fleet, on a PostgreSQL of its own.
@Suite struct FleetDemoTests {
    @Test func endsWellIfNothingIsBroken() async throws {
        let outcome = try await demo(breaking: "")
        #expect(outcome.status == 0, "\(outcome.output)\(outcome.error)")
        #expect(outcome.output.contains("everything above happened"))
    }

    @Test(arguments: [("relays", "lock"), ("audit", "audit trail that was changed")])
    func endsBadlyIfAStepIsBroken(step: String, told: String) async throws {
        let outcome = try await demo(breaking: step)
        #expect(outcome.status == 1, "\(outcome.output)\(outcome.error)")
        #expect(outcome.error.contains("FAILED: \(told)"), "\(outcome.error)")
    }

    private func demo(breaking step: String) async throws -> Outcome {
        try await ChildProcess(
            Programs.repository.appending(path: "Tests/Scripts/with-postgresql").path,
            [Programs.repository.appending(path: "Examples/FleetDemo/run").path, Programs.directory.path],
            environment: ["BREAK": step, "DEMO_ARCHIVE": "16777216"]
        ).outcome(within: .seconds(260))
    }
}
