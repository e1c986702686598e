import Foundation
import Glibc
import Workloads

/// Prints the figures of Docs/Performance.md: echo and bulk over TLS, beside NIOSSL and OpenSSL in C. Every peer does every
/// work in a process of its own, in interleaved rounds; the median round counts, by the process's CPU time.
///
///     SocketTable SETTING.json [ROUNDS]
///     SocketTable worker PEER ROW SETTING.json                (what the table starts for itself)
///     SocketTable many COUNT STORE HOST:PORT                  (so many at once through a gateway; see sockets.sh)
///     SocketTable bulk STORE HOST:PORT PATH TIMES             (a file of a web server, so many times; see door.sh)
@main
enum SocketTable {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch arguments.first {
        case "worker" where arguments.count == 4:
            try await Worker.run(arguments[1], arguments[2], Setting.read(arguments[3]))
        case "many" where arguments.count == 4:
            try await ManySockets.run(Int(arguments[1]) ?? 0, arguments[2], arguments[3])
        case "bulk" where arguments.count == 5:
            let cost = try await AppBulk.run(arguments[1], arguments[2], arguments[3], times: Int(arguments[4]) ?? 1)
            print(String(decoding: try JSONEncoder().encode(cost), as: UTF8.self))
        default:
            guard let setting = arguments.first else { exit(64) }
            try table(setting, rounds: arguments.count > 1 ? Int(arguments[1]) ?? 5 : 5)
        }
    }

    /// Seconds of CPU, and of wall time.
    struct Cost: Codable {
        var cpu: Double
        var wall: Double
    }

    private static func table(_ setting: String, rounds: Int) throws {
        let table = try RowTable.read()
        var missed: [String] = []
        for row in table.rows {
            guard let socket = row.socket else { continue }
            let peers = row.peers.compactMap(Peer.init)
            var samples: [Peer: [Cost]] = [:]
            for _ in 0..<rounds {
                for peer in peers { samples[peer, default: []].append(try measure(peer, row.name, setting)) }
            }
            let costs = samples.mapValues { $0.sorted { $0.cpu < $1.cpu }[$0.count / 2] }
            print(row.title)
            for peer in peers { if let cost = costs[peer] { print("  \(peer.name): \(socket.text(of: cost))") } }
            missed += judge(table.targets(of: row.name), costs).map { "\(row.title): \($0)" }
        }
        print(missed.isEmpty ? "\nEvery row reached its target." : "\nMissed:")
        for row in missed { print("- \(row)") }
    }

    private static func judge(_ targets: [Target], _ costs: [Peer: Cost]) -> [String] {
        targets.compactMap { target in
            guard target.quantity == .cpu, let ours = Peer(rawValue: target.peer).flatMap({ costs[$0]?.cpu }),
                let theirs = target.of.flatMap(Peer.init).flatMap({ costs[$0]?.cpu })
            else { return nil }
            print("    " + target.line(ours / theirs))
            return target.isReached(ours / theirs) ? nil : target.summary(ours / theirs)
        }
    }

    private static func measure(_ peer: Peer, _ row: String, _ setting: String) throws -> Cost {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["worker", peer.rawValue, row, setting]
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return try JSONDecoder().decode(Cost.self, from: data)
    }
}

enum Peer: String, CaseIterable {
    case sallyport
    case sallyportOnLoop = "loop"
    case nioSSL, openSSL

    var name: String {
        switch self {
        case .sallyport: "Sallyport"
        case .sallyportOnLoop: "Sallyport, on the loop"
        case .nioSSL: "NIOSSL"
        case .openSSL: "OpenSSL in C"
        }
    }
}

extension Row.Socket {
    func text(of cost: SocketTable.Cost) -> String {
        let count = Double(amount * connections)
        if work == .echo {
            return String(
                format: "%.1f µs of CPU a message, %.0f messages/s", cost.cpu / count * 1e6, count / cost.wall)
        }
        return String(format: "%.2f s of CPU, %.0f MB/s", cost.cpu, count / cost.wall / 1e6)
    }
}
