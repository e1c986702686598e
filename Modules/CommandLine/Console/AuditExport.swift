import Glibc
import SallyportGateway

/// Writes the entries of the audit trail, chain by chain, as far as the chains go when it begins.
struct AuditExport {
    private let console: Console
    private let isSyslog: Bool

    init(_ console: Console, syslog isSyslog: Bool) { (self.console, self.isSyslog) = (console, isSyslog) }

    /// - Parameter file: nil for standard output.
    /// - Returns: the number of lines.
    func write(to file: NewFileInParts?) async throws -> Int {
        guard case .chains(let chains) = try await ask(.export) else { throw Self.unexpected }
        var count = 0
        for chain in chains {
            var place = chain.first - 1
            while place < chain.last {
                try Task.checkCancellation()
                let page = AuditRequest.page(chain: chain.chain, after: place, through: chain.last)
                guard case .entries(let entries) = try await ask(page) else { throw Self.unexpected }
                guard let last = entries.last else { break }
                try write(entries, to: file)
                count += entries.count
                place = last.number
            }
        }
        try file?.finish()
        return count
    }

    private func write(_ entries: [AuditEntry], to file: NewFileInParts?) throws(CommandFailure) {
        let text = Array(entries.map { line($0) + "\n" }.joined().utf8)
        if let file { return try file.write(text) }
        // A reader that has enough closes the pipe.
        guard StandardStreams.output(text: text) else { throw OutputFile.unwritten(errno) }
    }

    private func line(_ entry: AuditEntry) -> String {
        isSyslog ? SyslogLine.text(of: entry, host: entry.fields["gateway"] ?? "", process: nil) : entry.json
    }

    private func ask(_ request: AuditRequest) async throws -> AuditAnswer {
        switch try await console.perform(.audit(request)) {
        case .audit(let answer): return answer
        case .failure(let failure): throw ConsoleReply.failure(failure)
        default: throw Self.unexpected
        }
    }

    private static let unexpected = CommandFailure(
        .software, name: "internalFailure", "The gateway answered with something else.")
}
