import ArgumentParser
import SallyportGateway

extension FleetCommand {
    struct Roles: ParsableCommand, CheckedArguments {
        static let configuration = CommandConfiguration(
            commandName: "roles",
            abstract: "Print the SQL that gives roles of the database the rights which they need, and no other.",
            discussion: """
                For psql as the owner of the tables; it changes nothing by itself. The gateways' role can add to the audit \
                trail, but neither change nor remove an entry; the auditors' role reads the trail, and nothing else.
                """)
        @Option(help: ArgumentHelp("The role of the gateways.", valueName: "role")) var control: String
        @Option(help: ArgumentHelp("A role that reads the audit trail.", valueName: "role")) var auditor: String?
        @Option(help: ArgumentHelp("The schema that has the tables.", valueName: "name")) var schema = "public"
        @OptionGroup var output: OutputOptions

        struct Result: Encodable { let statements: [String] }

        func check() throws {
            for name in [control, auditor ?? "auditor", schema] {
                guard !name.isEmpty, name.utf8.count <= 63, !name.utf8.contains(0) else {
                    throw ValidationError("A name in PostgreSQL has 1 to 63 bytes.")
                }
            }
        }

        func run() throws {
            let roles = FleetRoles(control: control, auditor: auditor, schema: schema)
            output.print(
                Result(statements: roles.statements), roles.statements.map { "\($0);" }.joined(separator: "\n"))
        }
    }

    struct Upgrade: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "upgrade",
            abstract: "Make the tables of this version from those of an earlier one, as the role that owns them.",
            discussion: """
                A gateway whose role owns the tables does it when it starts. Give the roles their rights afterwards, by \
                what 'gateway fleet roles' prints. Gateways of the earlier version change nothing from then on.
                """)
        @OptionGroup var location: DataLocationOptions
        @Option(help: .database("The fleet's database, as the role that owns the tables"))
        var databaseOwner: DatabaseArgument
        @OptionGroup var output: OutputOptions

        struct Result: Encodable { let level: Int64 }

        func run() async throws {
            let level = try await GatewayHost(location).upgradeFleet(asOwner: databaseOwner.url())
            output.print(
                Result(level: level),
                "the database has level \(level): give its roles their rights by what 'gateway fleet roles' prints")
        }
    }
}
