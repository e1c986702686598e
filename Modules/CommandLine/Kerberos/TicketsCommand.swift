#if Kerberos
import ArgumentParser
import FoundationEssentials
import SallyportCore
import SallyportLoading
import SallyportKerberos
import SallyportSecureStore

/// Tickets are listed and removed; no KDC is contacted.
private struct NoTunnels: RoutedTunnels {
    func open(_ request: RoutedTunnelRequest) async throws(LoadError) -> ByteStream {
        throw LoadError(.unsupported, at: .routing, "No KDC is asked here.")
    }
}

/// Shows and removes the Kerberos tickets in an app's store.
struct TicketsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tickets", abstract: "Show and remove the Kerberos tickets in an app's store.",
        subcommands: [ListCommand.self, ClearCommand.self])

    /// Runs a command with the tickets, and closes the store.
    static func withKerberos<Result>(
        _ location: StoreLocationOptions, _ options: StoreOptions, _ body: (Kerberos) async throws -> Result
    ) async throws -> Result {
        let store = try await location.openApp(options)
        defer { store.close() }
        return try await body(Kerberos(in: store, tunnels: NoTunnels()))
    }
}

extension TicketsCommand {
    struct ListCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List tickets without their keys; works beside the running app.")
        @OptionGroup var location: StoreLocationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let tickets = try await TicketsCommand.withKerberos(location, .readOnly) { try await $0.tickets() }
            let report = tickets.map(TicketReport.init)
            output.print(report, TicketReport.text(report))
        }
    }

    struct ClearCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "clear", abstract: "Remove tickets; the app must not run.")
        @Option(help: ArgumentHelp("Only tickets of this principal.", valueName: "name")) var principal: String?
        @OptionGroup var location: StoreLocationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await TicketsCommand.withKerberos(location, .existing) { kerberos in
                try await kerberos.clear(of: principal.map { Principal($0) })
            }
            output.print(Acknowledgement(), "cleared")
        }
    }
}

/// A ticket, without its secret parts.
private struct TicketReport: Encodable {
    let principal: String
    let user: String
    /// Nil for the ticket-granting ticket.
    let service: String?
    let ends: Date
    let renewableUntil: Date?

    init(_ ticket: KerberosTicket) {
        principal = ticket.principal.name
        user = ticket.user
        service = ticket.service
        ends = Date(timeIntervalSince1970: Double(ticket.ends))
        renewableUntil = ticket.renewableUntil.map { Date(timeIntervalSince1970: Double($0)) }
    }

    static func text(_ tickets: [TicketReport]) -> String {
        guard !tickets.isEmpty else { return "no ticket" }
        var table = Table(["principal", "user", "service", "ends", "renewable until"])
        for ticket in tickets {
            table.append([
                ticket.principal, ticket.user, ticket.service ?? "-", ticket.ends.formatted(.iso8601),
                ticket.renewableUntil.map { $0.formatted(.iso8601) } ?? "-",
            ])
        }
        return table.text
    }
}
#endif
