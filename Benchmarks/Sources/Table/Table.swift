import Foundation
import Peers
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
        do {
            try run(Setting.read(path), rounds: rounds, only: only)
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
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
        let table = try RowTable.read()
        let rows = table.rows.filter { only.isEmpty || $0.title.contains(only) || $0.name == only }
        guard rows.contains(where: { $0.load != nil }) else {
            throw PeerFailure("no row of this table has the name or the words \"\(only)\" in its title")
        }
        var missed: [String] = []
        for row in rows {
            guard let load = row.load else { continue }
            let peers = row.peers.compactMap(Peer.init)
            let results = try measure(load, by: peers, in: setting, rounds: rounds)
            print(row.title)
            for peer in peers { if let result = results[peer] { report(peer, result) } }
            missed += judge(table.targets(of: row.name), results).map { "\(row.title): \($0)" }
        }
        print(missed.isEmpty ? "\nEvery row reached its targets." : "\nMissed:")
        for row in missed { print("- \(row)") }
    }

    private static func measure(
        _ load: Row.Load, by peers: [Peer], in setting: Setting, rounds: Int
    ) throws -> [Peer: Cost] {
        var samples: [Peer: [Cost]] = [:]
        for _ in 0..<rounds {
            for peer in peers { samples[peer, default: []].append(try Worker.run(setting.job(load, peer: peer))) }
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

    private static func report(_ peer: Peer, _ result: Cost) {
        print(
            "  " + padded(peer.rawValue, 18) + padded(number(result.cpuPerOperation / 1000) + " µs CPU", 18)
                + padded(number(result.throughput / 1e6) + " MB/s", 16)
                + number(Double(result.memoryGrowth) / 1_048_576) + " MiB over idle")
    }

    private static func judge(_ targets: [Target], _ results: [Peer: Cost]) -> [String] {
        targets.compactMap { target in
            guard let value = target.value(in: results) else { return nil }
            print("    " + target.line(value))
            return target.isReached(value) ? nil : target.summary(value)
        }
    }
}

extension Target {
    /// Nil for what is counted, not timed.
    fileprivate func value(in results: [Peer: Cost]) -> Double? {
        guard let ours = Peer(rawValue: peer).flatMap({ results[$0] }) else { return nil }
        let theirs = of.flatMap(Peer.init).flatMap { results[$0] }
        return switch quantity {
        case .cpu: theirs.map { ours.cpuPerOperation / $0.cpuPerOperation }
        case .throughput: theirs.map { ours.throughput / $0.throughput }
        case .memory: Double(ours.memoryGrowth) / 1_048_576
        default: nil
        }
    }
}
