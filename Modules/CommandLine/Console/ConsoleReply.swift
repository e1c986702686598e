import FoundationEssentials
import SallyportGateway

/// A gateway's answer, for people or as JSON.
struct ConsoleReply {
    let reply: AdministrationReply
    private var remarks = Remarks()

    init(_ reply: AdministrationReply) { self.reply = reply }

    private init(_ reply: AdministrationReply, _ remarks: Remarks) { (self.reply, self.remarks) = (reply, remarks) }

    /// - Throws: ``CommandFailure`` where nothing was done.
    func print(_ acknowledgement: String, to output: OutputOptions) throws {
        switch reply {
        case .done: show(Acknowledgement(), acknowledgement + force(after: "; "), output)
        case .warned(let reply, let warning):
            try remarking(on: reply) { $0.warning = warning }.print(acknowledgement, to: output)
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
        case .authority(let entry): show(entry, entry.text + force(after: "\n"), output)
        case .gateways(let entries): output.print(entries, GatewayTable.text(of: entries, at: Date()))
        case .fleet(let fleet): output.print(fleet, FleetText.text(of: fleet, at: Date()))
        case .changes(let changes):
            show(Changes(changes: changes), Self.lines(of: changes) + force(after: "\n"), output)
        case .relays(let relays): output.print(relays, RelayTable.text(of: relays))
        case .atRelays(let reply, let report):
            try remarking(on: reply) { $0.relays = report }.print(acknowledgement, to: output)
        case .needsConfirmation(let instances): throw Confirmation.missing(toWipe: instances)
        case .failure(let failure): throw Self.failure(failure)
        }
    }

    /// The answer within this one, with what this one adds to it.
    private func remarking(on reply: AdministrationReply, _ add: (inout Remarks) -> Void) -> ConsoleReply {
        var remarks = remarks
        add(&remarks)
        return ConsoleReply(reply, remarks)
    }

    /// What was done, with the remarks as further members of its JSON object.
    private func show(_ value: some Encodable, _ text: String, _ output: OutputOptions) {
        output.print(Remarked(value: value, remarks: remarks), text)
    }

    /// At which relays the change is in force, for people; empty if the gateway does not say that.
    private func force(after separator: String) -> String {
        remarks.relays.map { separator + RelayTable.text(of: $0) } ?? ""
    }

    /// What a gateway adds to its answer: a warning, such as that a change is not in force yet, and the relays at which
    /// it is.
    private struct Remarks: Encodable {
        var warning: String?
        var relays: RelayReport?
    }
    private struct Remarked<Value: Encodable>: Encodable {
        let value: Value
        let remarks: Remarks

        func encode(to encoder: any Encoder) throws {
            try value.encode(to: encoder)
            try remarks.encode(to: encoder)
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
