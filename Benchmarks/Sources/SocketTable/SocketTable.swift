import Foundation
import Glibc

/// Prints the figures of Docs/Performance.md: echo and bulk over TLS, beside NIOSSL and OpenSSL in C. Every peer does every
/// work in a process of its own, in interleaved rounds; the median round counts, by the process's CPU time.
///
///     SocketTable PORT AUTHORITY [ROUNDS]
///     SocketTable worker PEER WORK PORT AUTHORITY             (what the table starts for itself)
///     SocketTable many COUNT STORE HOST:PORT                  (so many at once through a gateway; see sockets.sh)
@main
enum SocketTable {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch arguments.first {
        case "worker" where arguments.count == 5:
            try await Worker.run(arguments[1], arguments[2], port: Int(arguments[3]) ?? 0, authority: arguments[4])
        case "many" where arguments.count == 4:
            try await ManySockets.run(Int(arguments[1]) ?? 0, arguments[2], arguments[3])
        default:
            guard arguments.count >= 2 else { exit(64) }
            let rounds = arguments.count > 2 ? Int(arguments[2]) ?? 5 : 5
            try table(port: arguments[0], authority: arguments[1], rounds: rounds)
        }
    }

    /// Seconds of CPU, and of wall time.
    struct Cost: Codable {
        var cpu: Double
        var wall: Double
    }

    private static func table(port: String, authority: String, rounds: Int) throws {
        var missed: [String] = []
        for work in Work.allCases {
            var samples: [Peer: [Cost]] = [:]
            for _ in 0..<rounds {
                for peer in Peer.allCases {
                    samples[peer, default: []].append(try measure(peer, work, port, authority))
                }
            }
            let costs = samples.mapValues { $0.sorted { $0.cpu < $1.cpu }[$0.count / 2] }
            print(work.name)
            for peer in Peer.allCases { if let cost = costs[peer] { print("  \(peer.name): \(work.text(of: cost))") } }
            missed += judge(work, costs)
        }
        print(missed.isEmpty ? "\nEvery row reached its limit." : "\nMissed:")
        for row in missed { print("- \(row)") }
    }

    private static func judge(_ work: Work, _ costs: [Peer: Cost]) -> [String] {
        guard let ours = costs[.sallyport]?.cpu, let nio = costs[.nioSSL]?.cpu, let c = costs[.openSSL]?.cpu else {
            return []
        }
        let loop = costs[.sallyportOnLoop]?.cpu ?? ours
        let rows = [
            ("CPU of NIOSSL's", ours / nio, 1.0), ("CPU of OpenSSL's in C", ours / c, 1 / 0.9),
            ("on the loop: CPU of OpenSSL's in C", loop / c, 1 / 0.9),
        ]
        return rows.compactMap { name, value, limit in
            let isReached = value <= limit
            let text = "\(name) \(round(value)), limit \(round(limit))"
            print("    \(text): \(isReached ? "reached" : "missed")")
            return isReached ? nil : "\(work.name): \(text)"
        }
    }

    private static func round(_ value: Double) -> String { String(format: "%.2f", value) }

    private static func measure(_ peer: Peer, _ work: Work, _ port: String, _ authority: String) throws -> Cost {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["worker", peer.rawValue, work.rawValue, port, authority]
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return try JSONDecoder().decode(Cost.self, from: data)
    }
}

enum Peer: String, CaseIterable {
    case sallyport, sallyportOnLoop, nioSSL, openSSL

    var name: String {
        switch self {
        case .sallyport: "Sallyport"
        case .sallyportOnLoop: "Sallyport, on the loop"
        case .nioSSL: "NIOSSL"
        case .openSSL: "OpenSSL in C"
        }
    }
}

enum Work: String, CaseIterable {
    case echo, echoMany, download, upload

    static let size = 64
    static let octets = 512 << 20
    var connections: Int { self == .echoMany ? 32 : 1 }
    /// For each connection.
    var messages: Int { self == .echoMany ? 1_000 : 10_000 }

    var name: String {
        switch self {
        case .echo: "echo of 64 octets over TLS, one connection"
        case .echoMany: "echo of 64 octets over TLS, 32 connections"
        case .download: "512 MiB from the server over TLS"
        case .upload: "512 MiB to the server over TLS"
        }
    }

    func text(of cost: SocketTable.Cost) -> String {
        switch self {
        case .echo, .echoMany:
            let count = Double(messages * connections)
            return String(
                format: "%.1f µs of CPU a message, %.0f messages/s", cost.cpu / count * 1e6, count / cost.wall)
        case .download, .upload:
            return String(
                format: "%.2f s of CPU, %.0f MB/s", cost.cpu, Double(Self.octets) / cost.wall / 1e6)
        }
    }
}
