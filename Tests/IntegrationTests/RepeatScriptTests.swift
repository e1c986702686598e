import Foundation
import TestSupport
import Testing

/// `Tests/Scripts/repeat`, beside scripts that take the place of the compiler and of the tests.
struct RepeatScriptTests {
    private let folder: TemporaryDirectory
    private let scripts: URL

    init() throws {
        folder = try TemporaryDirectory()
        scripts = URL(filePath: folder.path).appending(path: "Tests/Scripts")
        try FileManager.default.createDirectory(at: scripts, withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            at: Programs.repository.appending(path: "Tests/Scripts/repeat"), to: scripts.appending(path: "repeat"))
        try write("echo built >>'\(folder.path)/builds'", to: "swift")
    }

    private func write(_ commands: String, to name: String) throws {
        let file = scripts.appending(path: name)
        try Data("#!/bin/sh\n\(commands)\n".utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
    }

    /// - Parameter third: what the tests do in their third run; they are green in each other one.
    private func run(_ arguments: String..., third: String = "true") async throws -> Outcome {
        let script = """
            cd '\(folder.path)'
            echo "$*" >>runs
            [ "$(wc -l <runs)" -ne 3 ] || { \(third); }
            """
        try write(script, to: "test")
        return try await ChildProcess(
            scripts.appending(path: "repeat").path, arguments, environment: ["TMPDIR": folder.path]
        ).outcome()
    }

    private func lines(_ name: String) throws -> [String] {
        try String(contentsOfFile: folder.file(name), encoding: .utf8).split(separator: "\n").map(String.init)
    }

    /// What it printed, without the seconds of each run.
    private func results(_ outcome: Outcome) -> [String] {
        outcome.output.split(separator: "\n").map { String($0).replacing(/: [0-9]+ s,/, with: ":") }
    }

    /// Outputs that were kept.
    private func logs() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix("sallyport-repeat.") }
    }

    @Test func greenRunsGoOnToTheirNumber() async throws {
        let outcome = try await run("4", "--filter", "Some")
        #expect(outcome.status == 0, "\(outcome.error)")
        let expected = ["Run 1: green", "Run 2: green", "Run 3: green", "Run 4: green", "4 of 4 runs were green."]
        #expect(results(outcome) == expected)
        #expect(try lines("builds") == ["built"])
        #expect(try lines("runs") == Array(repeating: "--filter Some", count: 4))
        #expect(try logs().isEmpty)
    }

    @Test func aRedRunIsTheLast() async throws {
        let outcome = try await run("5", third: "echo 'Broken: A.B/c()'; exit 1")
        #expect(outcome.status == 1)
        #expect(Array(results(outcome).prefix(4)) == ["Run 1: green", "Run 2: green", "Run 3: red", "Broken: A.B/c()"])
        #expect(results(outcome).last == "2 of 5 runs were green.")
        let log = try #require(try logs().first)
        #expect(try lines(log) == ["Broken: A.B/c()"])
    }

    @Test func aRunWithAFlakyTestIsTheLast() async throws {
        let outcome = try await run("5", third: "echo 'Flaky: A.B/c()'")
        #expect(outcome.status == 1)
        let first = ["Run 1: green", "Run 2: green", "Run 3: flaky", "Flaky: A.B/c()"]
        #expect(Array(results(outcome).prefix(4)) == first)
        #expect(results(outcome).last == "2 of 5 runs were green.")
    }

    @Test(arguments: ["0", "x", "-1"]) func whatIsNoNumberOfRunsIsRefused(_ runs: String) async throws {
        let outcome = try await run(runs)
        #expect(outcome.status == 64)
        #expect(outcome.error.contains("'\(runs)' is no number of runs"))
        #expect(!FileManager.default.fileExists(atPath: folder.file("builds")))
    }
}
