import ArgumentParser
import SallyportGateway

extension FleetCommand {
    struct Move: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "move",
            abstract: "Take the fleet's database at another URL: with other hosts, another role or another password.",
            discussion: """
                For one gateway, which must not run meanwhile: the others go on. Nothing is changed unless what answers \
                there is the database of this fleet, and no older than what this gateway has seen of it.
                """)
        @OptionGroup var location: DataLocationOptions
        @Option(help: .database("Where the fleet's PostgreSQL database is now")) var database: DatabaseArgument
        @OptionGroup var output: OutputOptions

        struct Result: Encodable { let revision: Int64 }

        func run() async throws {
            let revision = try await GatewayHost(location).moveFleet(to: database.url())
            output.print(
                Result(revision: revision),
                "the fleet's database is there, at revision \(revision): start the gateway again")
        }
    }
}
