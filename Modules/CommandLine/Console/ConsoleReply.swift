import FoundationEssentials
import SallyportGateway

/// A gateway's answer, for people or as JSON.
struct ConsoleReply {
    let reply: AdministrationReply
    /// What the gateway adds to its answer, such as that a change is not in force yet.
    private let warning: String?

    init(_ reply: AdministrationReply) { self.init(reply, warning: nil) }

    private init(_ reply: AdministrationReply, warning: String?) { (self.reply, self.warning) = (reply, warning) }

    /// - Throws: ``CommandFailure`` where nothing was done.
    func print(_ acknowledgement: String, to output: OutputOptions) throws {
        switch reply {
        case .done: show(Acknowledgement(), acknowledgement, output)
        case .warned(let reply, let warning):
            try ConsoleReply(reply, warning: warning).print(acknowledgement, to: output)
            StandardStreams.error("warning: \(warning)")
        case .realms(let realms): output.print(realms, Self.lines(of: realms))
        case .users(let users):
            output.print(users.map(User.init), users.isEmpty ? "no user is added" : users.joined(separator: "\n"))
        case .applications(let entries): output.print(entries, DirectoryTables.table(of: entries))
        case .servers(let entries): output.print(entries, DirectoryTables.table(of: entries))
        case .routes(let entries): output.print(entries, DirectoryTables.table(of: entries))
        case .clusters(let entries): output.print(entries, DirectoryTables.table(of: entries))
        case .link(let link): output.print(Link(link: link), link)
        case .audit(.entries(let entries)):
            output.print(entries.map(AuditReportLine.init), AuditTable.text(of: entries))
        case .audit(.checkpoint(let text)): output.print(Checkpoint(checkpoint: text), text)
        case .audit(.chains(let chains)): output.print(chains, "done")
        case .audit(.report(let report)):
            output.print(AuditTable.Verified(report), AuditTable.text(of: report))
        case .invitation(let text): output.print(Invitation(invitation: text), text)
        case .relayInvitation(let relay):
            show(relay, relay.invitation, output)
            // Apart from the invitation, which scripts take from standard output.
            if !output.json { StandardStreams.error("added relay \(relay.name) to cluster \(relay.cluster)") }
        case .accessKeys(let keys): output.print(keys.map(AccessKeyReport.init), AccessKeyReport.table(of: keys))
        case .revoked(let count): output.print(Revoked(revoked: count), "revoked \(count) unused")
        case .configuration(let yaml): output.print(Configuration(configuration: yaml), yaml)
        case .instances(let instances): output.print(instances, InstanceTable.text(of: instances, at: Date()))
        case .authority(let entry): show(entry, entry.text, output)
        case .gateways(let entries): output.print(entries, GatewayTable.text(of: entries, at: Date()))
        case .fleet(let fleet): output.print(fleet, FleetText.text(of: fleet, at: Date()))
        case .changes(let changes): show(Changes(changes: changes), Self.lines(of: changes), output)
        case .relays(let relays): output.print(relays, RelayTable.text(of: relays))
        case .atRelays(let reply, let report): try Self.print(reply, report, acknowledgement, to: output)
        case .needsConfirmation(let instances): throw Confirmation.missing(toWipe: instances)
        case .failure(let failure): throw Self.failure(failure)
        }
    }

    /// What was done, with the warning.
    private func show(_ value: some Encodable, _ text: String, _ output: OutputOptions) {
        guard let warning else { return output.print(value, text) }
        output.print(Warned(value: value, warning: warning), text)
    }

    /// What was done, and where it is in force.
    private static func print(
        _ reply: AdministrationReply, _ report: RelayReport, _ acknowledgement: String, to output: OutputOptions
    ) throws {
        let force = RelayTable.text(of: report)
        switch reply {
        case .done: output.print(InForce(relays: report), "\(acknowledgement); \(force)")
        case .changes(let changes):
            output.print(Changes(changes: changes, relays: report), "\(lines(of: changes))\n\(force)")
        case .authority(let entry):
            output.print(AuthorityInForce(entry: entry, relays: report), "\(entry.text)\n\(force)")
        default: try ConsoleReply(reply).print("\(acknowledgement); \(force)", to: output)
        }
    }

    private struct InForce: Encodable {
        let done = true
        let relays: RelayReport
    }
    /// The members of the entry, and beside them the relays.
    private struct AuthorityInForce: Encodable {
        let entry: AuthorityEntry
        let relays: RelayReport

        private enum CodingKeys: String, CodingKey { case relays }

        func encode(to encoder: any Encoder) throws {
            try entry.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(relays, forKey: .relays)
        }
    }
    /// The members of the value, and beside them the warning.
    private struct Warned<Value: Encodable>: Encodable {
        let value: Value
        let warning: String

        private enum CodingKeys: String, CodingKey { case warning }

        func encode(to encoder: any Encoder) throws {
            try value.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(warning, forKey: .warning)
        }
    }
    private struct User: Encodable { let user: String }
    private struct Link: Encodable { let link: String }
    private struct Invitation: Encodable { let invitation: String }
    private struct Checkpoint: Encodable { let checkpoint: String }
    private struct Revoked: Encodable { let revoked: Int }
    private struct Configuration: Encodable { let configuration: String }
    private struct Changes: Encodable {
        let changes: [String]
        var relays: RelayReport?
    }

    private static func lines(of realms: [AdministrationReply.RealmEntry]) -> String {
        guard !realms.isEmpty else { return "no realm is listed" }
        return realms.map { OneLine.of("\($0.realm) \($0.kdcs.joined(separator: " "))") }.joined(separator: "\n")
    }

    private static func lines(of changes: [String]) -> String {
        changes.isEmpty ? "no change" : changes.map(OneLine.of).joined(separator: "\n")
    }

    static func failure(_ failure: AdministrationReply.Failure) -> CommandFailure {
        let code = GatewayError.Code(failure.name)
        return CommandFailure(
            code.map(CommandFailure.status) ?? .usage, name: failure.name, failure.message)
    }
}
