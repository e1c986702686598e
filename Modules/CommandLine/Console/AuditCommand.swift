import ArgumentParser
import FoundationEssentials
import SallyportGateway

/// Reads and verifies the gateway's audit trail.
struct AuditCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit", abstract: "Read, export and verify the audit trail.",
        discussion: "Reading it is an entry of the trail itself.",
        subcommands: [List.self, Export.self, Verify.self, Checkpoint.self])

    struct List: ConsoleCommand, CheckedArguments {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List entries of all chains, by time.",
            discussion: "The newest ones, or with --after those that follow a number in each chain.")
        @Option(help: ArgumentHelp("Only entries with a greater number, the lowest first.", valueName: "number"))
        var after: Int64?
        @Option(help: ArgumentHelp("Only entries of this kind; may be repeated.", valueName: "kind"))
        var kind: [AuditKind] = []
        @Option(
            help: ArgumentHelp("Only entries from this time on: RFC 3339, as 2026-01-31T00:00:00Z.", valueName: "time"),
            transform: auditTime)
        var since: Int64?
        @Option(help: "The most entries, 1 to 10000.") var limit = 100
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func check() throws {
            guard (1...AuditRequest.pageLimit).contains(limit) else {
                throw ValidationError("--limit is 1 to \(AuditRequest.pageLimit).")
            }
        }

        func request() -> AdministrationCommand {
            .audit(.list(AuditQuery(after: after, kinds: kind, since: since, limit: limit)))
        }
    }

    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "export", abstract: "Write all entries that are kept, one a line, chain by chain.",
            discussion: "The file must not exist yet; it is for its owner only.")
        enum Format: String, ExpressibleByArgument, CaseIterable { case jsonl, syslog }

        @Option(help: "jsonl (JSON on each line) or syslog (RFC 5424).") var format = Format.jsonl
        @Option(help: ArgumentHelp("The file. Default: standard output.", valueName: "file")) var out: String?
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            // Before a signal is taken: this may wait for a passphrase in standard input.
            let export = try AuditExport(Console(location), syslog: format == .syslog)
            // A signal ends the process at once where no file has to be removed: a reader that does not read would hold
            // a cancelled command up.
            guard out != nil else { return try await write(export) }
            let command = self
            try await withInterruption { try await command.write(export) }
        }

        private func write(_ export: AuditExport) async throws {
            let file = try out.map { path throws(CommandFailure) in try NewFileInParts(path, mode: 0o600) }
            let count = try await export.write(to: file)
            guard let out else { return }
            output.print(Exported(entries: count, file: out), "\(Count.of(count, "line")) written to \(out)")
        }

        private struct Exported: Encodable {
            let entries: Int
            let file: String
        }
    }

    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify", abstract: "Check that no entry was changed, moved or removed.",
            discussion: """
                The end of a chain can be cut off without a trace in the chain itself: only a checkpoint that was kept \
                elsewhere shows that for sure.
                """)
        @Option(help: ArgumentHelp("A file with what 'admin audit checkpoint' printed.", valueName: "file"))
        var checkpoint: String?
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let text = try checkpoint.map { path throws(CommandFailure) in
                try InputFile.text(path, limit: AuditRequest.checkpointLimit)
            }
            let reply = try await Console(location).perform(.audit(.verify(checkpoint: text)))
            guard case .audit(.report(let report)) = reply else {
                return try ConsoleReply(reply).print("done", to: output)
            }
            output.print(AuditTable.Verified(report), AuditTable.text(of: report))
            guard !report.isSound else { return }
            throw CommandFailure(.inputOutput, name: "notSound", "The audit trail was changed.")
        }
    }

    struct Checkpoint: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "checkpoint", abstract: "Print where the chains end, signed by the gateway; no secret.",
            discussion: "Keep it apart from the gateway: 'admin audit verify --checkpoint' compares the trail with it.")
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .audit(.checkpoint) }
    }
}

extension AuditKind: ExpressibleByArgument {}

/// Milliseconds since 1970.
@Sendable private func auditTime(_ text: String) throws -> Int64 {
    let plain = Date.ISO8601FormatStyle()
    let exact = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    guard let date = (try? plain.parse(text)) ?? (try? exact.parse(text)) else {
        throw ValidationError("A time such as 2026-01-31T00:00:00Z is expected.")
    }
    return Int64((date.timeIntervalSince1970 * 1000).rounded())
}
