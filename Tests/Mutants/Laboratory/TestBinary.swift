import Foundation
import MutantWeaving

/// All tests in one program, run without `swift test`, which would add a second or more to each run.
struct TestBinary: Sendable {
    struct Run {
        /// Seconds.
        var time: Double
        var status: Int32
        var log: String

        /// The test that failed first, or how else the run ended.
        var cause: String {
            if let red = log.firstMatch(of: /✘ Test (?:case )?(.+?) (?:recorded|failed)/) {
                return String(red.output.1)
            }
            return status == 137 ? "the tests hang" : "the tests end with \(status)"
        }

        /// The number of tests that ran.
        var count: Int { log.firstMatch(of: /Test run with ([0-9]+) test/).flatMap { Int($0.output.1) } ?? 0 }
    }

    let path: String
    let folder: URL
    let logs: URL

    /// - Parameters:
    ///   - choice: its filter matches whole names, so that `ProxyTests` does not run `ServerProxyTests` as well.
    ///   - lane: a number that no other run has at the same time.
    ///   - limit: the seconds after which the tests, and the processes that they started, are killed.
    func run(_ choice: TestChoice, mutant: UInt32 = 0, lane: Int, limit: Int) async throws -> Run {
        // The processes that a killed test has started are in groups of their own, but in one session.
        let script = """
            timeout -s KILL \(limit) "$@"
            status=$?
            ps -o pid= -s $$ | grep -vw $$ | xargs -r kill -KILL 2>/dev/null
            exit $status
            """
        let output = logs.appending(path: "lane-\(lane).log")
        // The places at which errors are thrown are not recorded: that would take a quarter of the time.
        let environment = [
            Weaving.variable: String(mutant), "NO_COLOR": "1", "SWT_SWIFT_ERROR_BACKTRACING_ENABLED": "0",
        ]
        let command = Command(
            ["setsid", "--wait", "bash", "-c", script, "bash"]
                + (choice.isOverDatabase ? ["Tests/Scripts/with-postgresql"] : [])
                + [path, "--testing-library", "swift-testing", "--no-parallel"]
                + ["--filter", "(?:^|[./])(?:\(choice.filter))(?:[./(]|$)"],
            in: folder, output: output, environment: environment)
        let start = ContinuousClock.now
        let status = try await command.run()
        let time = (ContinuousClock.now - start) / .seconds(1)
        return try Run(time: time, status: status, log: String(decoding: Data(contentsOf: output), as: UTF8.self))
    }
}
