import Foundation

/// One line of work, done by several peers in turn. All rows, and what they should reach, are in `table.json`.
package struct Row: Codable, Sendable {
    /// What is fetched, or sent where `sends` is set.
    package struct Load: Codable, Sendable {
        package enum Path: String, Codable, Sendable { case direct, relay }

        package var file: String
        package var isSecure: Bool?
        /// Whether the server, which has TLS then, chooses HTTP/2.
        package var isHTTP2: Bool?
        package var path: Path?
        /// Bytes of the body of a request, for rows that send.
        package var sends: Int?
        package var total: Int
        package var concurrency: Int
    }

    /// What is done over sockets with TLS.
    package struct Socket: Codable, Sendable {
        package var work: SocketWork.Kind
        package var connections: Int
        /// Messages for each connection, or bytes.
        package var amount: Int
    }

    package var name: String
    package var title: String
    package var load: Load?
    package var socket: Socket?
    /// The file of the web server that is loaded once, and answered from the cache from then on.
    package var cached: String?
    package var peers: [String]
}

/// What a row should reach, by itself or beside a peer.
package struct Target: Codable, Sendable {
    package enum Quantity: String, Codable, Sendable {
        /// CPU time for each operation, ours over theirs; lower is better.
        case cpu
        /// Bytes a second, ours over theirs; higher is better.
        case throughput
        /// Our resident memory over what was idle, in MiB.
        case memory
        /// Operations a second of one core.
        case rate = "a second"
        // What `counts.sh` counts, for each operation.
        case instructions, hops, malloc, recv, send, poll
        case taskAllocations = "task allocations"
    }

    package var rows: [String]
    package var peer: String
    package var quantity: Quantity
    /// The peer beside which it is measured.
    package var of: String?
    package var bound: Double

    private var isLowest: Bool { quantity == .throughput || quantity == .rate }

    package func isReached(_ value: Double) -> Bool { isLowest ? value >= bound : value <= bound }

    /// One line of a table, with its verdict.
    package func line(_ value: Double) -> String {
        let subject = "\(peer): \(name)"
        let values = [padded(number(value), 10), padded("\(isLowest ? "≥" : "≤") \(number(bound))", 11)]
        return padded(subject, 48) + values.joined() + (isReached(value) ? "reached" : "missed")
    }

    /// The same without columns, for a list.
    package func summary(_ value: Double) -> String {
        "\(peer): \(name) \(number(value)), to reach \(isLowest ? "≥" : "≤") \(number(bound))"
    }

    package var name: String {
        let unit = quantity == .memory ? "memory over idle, MiB" : quantity.rawValue
        return unit + (of.map { " of \($0)'s" } ?? "")
    }
}

/// The rows and their targets.
package struct RowTable: Codable, Sendable {
    package var rows: [Row]
    package var targets: [Target]

    /// Reads `table.json`, which scripts name in the environment.
    package static func read() throws -> RowTable {
        guard let path = ProcessInfo.processInfo.environment["SALLYPORT_BENCH_TABLE"] else {
            throw PeerFailure("SALLYPORT_BENCH_TABLE does not name the table of rows")
        }
        return try JSONDecoder().decode(RowTable.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    }

    package func row(_ name: String) throws -> Row {
        guard let row = rows.first(where: { $0.name == name }) else { throw PeerFailure("there is no row \(name)") }
        return row
    }

    package func targets(of row: String) -> [Target] { targets.filter { $0.rows.contains(row) } }
}

/// For tables.
package func number(_ value: Double) -> String { String(format: value < 100 ? "%.2f" : "%.0f", value) }

package func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.count))
}
