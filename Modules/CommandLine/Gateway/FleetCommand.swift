import ArgumentParser
import FoundationEssentials
import SallyportBase
import SallyportGateway

/// The fleet as a whole, and what is done after a disaster.
struct FleetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract: "Show the fleet; care for its database; begin again without a gateway.",
        subcommands: [Status.self, Roles.self, Upgrade.self, Move.self, Restored.self, Recover.self])

    struct Status: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "status",
            abstract: "Show the database's state, the gateways and the relays, as this gateway sees them.")
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .showFleet }
    }

    struct Restored: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "restored",
            abstract: "Put the fleet's database into force after it was restored from a backup.",
            discussion: """
                Gateways and relays refuse a database that is older than what they have seen. This gives what it holds a \
                revision above all earlier ones. Stop all gateways first, give the command at one of them, and start \
                them again. What was decided after the backup is undone: lock again what was locked since. Unused access \
                keys are destroyed, and apps that were activated since must be activated again.
                """)
        @OptionGroup var location: DataLocationOptions
        @Flag(help: "Do it. Without, only say what would be done.") var yes = false
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let restoration = try await GatewayHost(location).restoreFleet(isConfirmed: yes)
            output.print(restoration, FleetText.text(of: restoration))
        }
    }

    struct Recover: AsyncParsableCommand, CheckedArguments {
        static let configuration = CommandConfiguration(
            commandName: "recover",
            abstract: "Create a gateway by the recovery key, if no gateway is left that could invite it.",
            discussion: "The recovery key is what 'gateway init --database' printed, in a file of one line.")
        @OptionGroup var location: DataLocationOptions
        @Option(help: .database("The fleet's PostgreSQL database")) var database: DatabaseArgument
        @Option(help: ArgumentHelp("The file with the recovery key; - for standard input.", valueName: "file"))
        var recoveryKeyFile: String
        @Option(help: ArgumentHelp("The name at which apps reach it. Default: this machine's.", valueName: "host"))
        var name: String?
        @OptionGroup var output: OutputOptions

        func check() throws {
            guard !database.isStandardInput || recoveryKeyFile != "-" else {
                throw ValidationError("Standard input has one of the two: --database or --recovery-key-file.")
            }
        }

        func run() async throws {
            let text = try InputFile.text(recoveryKeyFile, limit: 4096, ofSecret: "--recovery-key-file")
            let key = text.split(whereSeparator: \.isWhitespace).joined()
            let joined = try await GatewayHost(location).recover(
                name: name, database: database.url(), recoveryKey: Redacted(key))
            output.print(joined, "joined the fleet as \(joined.name ?? "") in \(joined.data)")
        }
    }
}

/// The fleet, as an administrator reads it.
enum FleetText {
    static func text(of fleet: AdministrationReply.FleetEntry, at now: Date) -> String {
        let store = fleet.fault.map { "store     FAULT: \($0)" } ?? "store     at revision \(fleet.revision ?? 0)"
        let isBehind = fleet.revision.map { $0 != fleet.applied } ?? false
        let here = "this one  has revision \(fleet.applied) in force" + (isBehind ? ", and is behind" : "")
        let lines = [store] + (fleet.warning.map { ["warning   \($0)"] } ?? []) + [here]
        let tables = [GatewayTable.text(of: fleet.gateways, at: now), RelayTable.text(of: fleet.relays)]
        return ([lines.joined(separator: "\n")] + tables).joined(separator: "\n\n")
    }

    static func text(of restoration: FleetRestoration) -> String {
        let known = restoration.known.map { "this gateway has seen revision \($0)" } ?? "this gateway has seen none"
        let found = "the database is at revision \(restoration.found), and \(known)"
        guard let revision = restoration.revision else {
            return "\(found); nothing was changed: --yes puts it into force"
        }
        let keys = Count.of(restoration.destroyedKeys, "unused access key")
        return "\(found); it is in force from revision \(revision) on, with \(keys) destroyed: start the gateways again"
    }
}
