internal import Foundation

/// A real server of names, stopped with this value.
package final class Dnsmasq: Sendable {
    private let process: ChildProcess

    /// - Parameters:
    ///   - lines: of its configuration: `host-record=NAME,ADDRESS`, `srv-host=_SERVICE._tcp.NAME,TARGET,PORT`.
    ///   - address: where it listens, at `port`.
    package init(_ lines: [String], at address: String, port: UInt16 = 53, in network: NetworkNamespace) async throws {
        process = try ChildProcess(
            "/usr/bin/env",
            [
                "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--pid-file=",
                "--bind-interfaces", "--listen-address=\(address)", "--port=\(port)", "--user=root", "--log-queries",
                "--log-facility=-",
            ] + lines.map { "--\($0)" },
            environment: ["PATH": "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"], in: network)
        let process = process
        let isUp = try await eventually { !process.isRunning || process.listens(at: port) }
        guard isUp, process.isRunning else { throw Unexpected("dnsmasq: \(process.error)") }
    }

    /// What it says of itself, with a line for each question.
    package var log: String { process.error }
}
