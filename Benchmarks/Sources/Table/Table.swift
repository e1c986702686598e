import Foundation
import Workloads

/// Prints the figures of Docs/Performance.md: every peer does every work in a process of its own, in interleaved
/// rounds; the median round counts.
///
///     Table SETTING.json [--rounds N] [--only TEXT]
///     Table worker JOB              (what the table starts for itself)
@main
enum Table {
    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.first == "worker", arguments.count == 2 { try work(arguments[1]) }
        guard let path = arguments.first else {
            print("usage: Table SETTING.json [--rounds N] [--only TEXT]")
            exit(64)
        }
        let rounds = option("--rounds", in: arguments).flatMap { Int($0) } ?? 5
        let only = option("--only", in: arguments) ?? ""
        try run(Setting.read(path), rounds: rounds, only: only)
    }

    /// Does a job and ends the process. In a detached task below a synchronous main: valgrind, by which instructions are
    /// counted, does not run Swift's asynchronous one.
    private static func work(_ text: String) throws -> Never {
        let job = try JSONDecoder().decode(Job.self, from: Data(text.utf8))
        Task.detached {
            do {
                print(String(decoding: try JSONEncoder().encode(await job.measure()), as: UTF8.self))
                exit(0)
            } catch {
                FileHandle.standardError.write(Data("\(error)\n".utf8))
                exit(1)
            }
        }
        while true { sleep(60) }
    }

    private static func option(_ name: String, in arguments: [String]) -> String? {
        guard let index = arguments.firstIndex(of: name), index + 1 < arguments.count else { return nil }
        return arguments[index + 1]
    }

    private static func run(_ setting: Setting, rounds: Int, only: String) throws {
        print("\(setting.machine); CPU time of the process, median of \(rounds) interleaved rounds\n")
        var missed: [String] = []
        for scenario in Scenario.all where only.isEmpty || scenario.name.contains(only) {
            let results = try measure(scenario, in: setting, rounds: rounds)
            report(scenario, results)
            missed += judge(scenario, results)
        }
        print(missed.isEmpty ? "\nEvery row reached its limit." : "\nMissed:")
        for row in missed { print("- \(row)") }
    }

    private static func measure(
        _ scenario: Scenario, in setting: Setting, rounds: Int
    ) throws -> [Peer: Cost] {
        var samples: [Peer: [Cost]] = [:]
        for _ in 0..<rounds {
            for peer in scenario.peers {
                samples[peer, default: []].append(try Worker.run(setting.job(scenario, peer: peer)))
            }
        }
        return samples.mapValues(median)
    }

    /// The round in the middle by CPU time, with the median wall time and the largest growth of memory.
    private static func median(_ samples: [Cost]) -> Cost {
        var middle = samples.sorted { $0.cpuNanoseconds < $1.cpuNanoseconds }[samples.count / 2]
        middle.wallNanoseconds = samples.map(\.wallNanoseconds).sorted()[samples.count / 2]
        middle.memoryGrowth = samples.map(\.memoryGrowth).max() ?? 0
        return middle
    }

    private static func report(_ scenario: Scenario, _ results: [Peer: Cost]) {
        print(scenario.name)
        for peer in scenario.peers {
            guard let result = results[peer] else { continue }
            print(
                "  " + padded(peer.rawValue, 18) + padded(number(result.cpuPerOperation / 1000) + " µs CPU", 18)
                    + padded(number(result.throughput / 1e6) + " MB/s", 16)
                    + number(Double(result.memoryGrowth) / 1_048_576) + " MiB over idle")
        }
    }

    private static func judge(_ scenario: Scenario, _ results: [Peer: Cost]) -> [String] {
        scenario.limits.compactMap { limit in
            guard let value = limit.value(in: results) else { return nil }
            let against = limit.theirs.map { " of \($0.rawValue)" } ?? ""
            let bound = (limit.quantity == .throughput ? "≥ " : "≤ ") + number(limit.bound)
            let row = "\(limit.ours.rawValue): \(limit.quantity.rawValue)\(against)"
            let verdict = limit.isReached(value) ? "reached" : "missed"
            print("    " + padded(row, 56) + padded(number(value), 9) + padded(bound, 9) + verdict)
            return limit.isReached(value) ? nil : "\(scenario.name): \(row) \(number(value)), limit \(bound)"
        }
    }

    private static func number(_ value: Double) -> String { String(format: value < 100 ? "%.2f" : "%.0f", value) }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }
}
