import Foundation
import MutantWeaving

/// All tests in one program, run without `swift test` around it: each run would wait for that a second or more.
struct TestBinary: Sendable {
    struct Run {
        /// Seconds.
        var time: Double
        var status: Int32
        var log: String

        /// The test that turned red first, or how else the run came to its end.
        var cause: String {
            if let red = log.firstMatch(of: /✘ Test (?:case )?(.+?) (?:recorded|failed)/) {
                return String(red.output.1)
            }
            return status == 137 ? "the tests hang" : "the tests end with \(status)"
        }

        /// How many tests there were.
        var count: Int { log.firstMatch(of: /Test run with ([0-9]+) test/).flatMap { Int($0.output.1) } ?? 0 }
    }

    let path: String
    let folder: URL
    let logs: URL

    /// - Parameters:
    ///   - filter: of whole names, so that `ProxyTests` does not run `ServerProxyTests` as well.
    ///   - lane: a number of which no other run that goes on has the same.
    ///   - limit: seconds, after which the tests and what they started are killed.
    func run(_ filter: String, mutant: UInt32 = 0, lane: Int, limit: Int) async throws -> Run {
        // What a test that is killed has started is in groups of its own, but in one session.
        let script = """
            timeout -s KILL \(limit) "$@"
            status=$?
            ps -o pid= -s $$ | grep -vw $$ | xargs -r kill -KILL 2>/dev/null
            exit $status
            """
        let output = logs.appending(path: "lane-\(lane).log")
        // Where errors are thrown is not taken down: it takes a fourth of all time.
        let environment = [
            Weaving.variable: String(mutant), "NO_COLOR": "1", "SWT_SWIFT_ERROR_BACKTRACING_ENABLED": "0",
        ]
        let command = Command(
            ["setsid", "--wait", "bash", "-c", script, "bash", path, "--testing-library", "swift-testing"]
                + ["--no-parallel", "--filter", "(?:^|[./])(?:\(filter))(?:[./(]|$)"],
            in: folder, output: output, environment: environment)
        let start = ContinuousClock.now
        let status = try await command.run()
        let time = (ContinuousClock.now - start) / .seconds(1)
        return try Run(time: time, status: status, log: String(decoding: Data(contentsOf: output), as: UTF8.self))
    }
}
