import ArgumentParser
import Foundation
import Glibc
import SallyportGateway
import TestSupport
import Testing

@testable import SallyportCommandLine

/// What commands of `admin` print with `--json`.
@Suite struct ConsoleReplyTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private struct Printed: Decodable {
        var done: Bool?
        var changes: [String]?
        var warning: String?
    }

    private func print(_ reply: AdministrationReply) throws -> (json: Printed, error: String) {
        let paths = ["output", "error"].map { folder.file($0) }
        let numbers = paths.map { open($0, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600) }
        defer { for number in numbers { close(number) } }
        let options = try OutputOptions.parse(["--json"])
        try Workplace.$current.withValue(Workplace(output: numbers[0], error: numbers[1], defaultStore: "")) {
            try ConsoleReply(reply).print("added bob", to: options)
        }
        let texts = try paths.map { try String(contentsOfFile: $0, encoding: .utf8) }
        return (try JSONDecoder().decode(Printed.self, from: Data(texts[0].utf8)), texts[1])
    }

    /// A script that looks for `done` would otherwise do again what is done, and one that looks at the changes would
    /// not learn that they are not in force.
    @Test func aWarningStandsBesideWhatWasDone() throws {
        let done = try print(.warned(.done, "Not yet."))
        #expect(done.json.done == true && done.json.warning == "Not yet.")
        #expect(done.error == "warning: Not yet.\n")
        let changed = try print(.warned(.changes(["user bob added"]), "Not yet."))
        #expect(changed.json.changes == ["user bob added"] && changed.json.warning == "Not yet.")
        #expect(changed.error == "warning: Not yet.\n")
    }

    @Test func withoutAWarningThereIsNoMemberForIt() throws {
        let done = try print(.done)
        #expect(done.json.done == true && done.json.warning == nil && done.error.isEmpty)
        #expect(try print(.changes([])).json.warning == nil)
    }
}
