import Foundation
import TestSupport
import Testing

@Suite struct MutantsTests {
    /// `make mutants` takes long; that its table still fits the sources is seen here.
    @Test func everyCheckStillStandsWhereTheTableSays() async throws {
        let check = try await ChildProcess(
            "/usr/bin/env", ["-C", Programs.repository.path, Programs.built("Mutants"), "--check"]
        ).outcome()
        #expect(check.status == 0, "\(check.output)\(check.error)")
    }
}
