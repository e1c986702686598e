import SallyportGateway

/// Relays, as an administrator reads them.
enum RelayTable {
    static func text(of relays: [AdministrationReply.RelayEntry]) -> String {
        guard !relays.isEmpty else { return "no relay is enrolled" }
        var table = Table(["RELAY", "CLUSTER", "PORT", "IN FORCE", "LAST ANSWER"])
        for relay in relays {
            table.append([
                relay.name, relay.cluster, relay.port.map { "\($0)" } ?? "-", force(of: relay),
                relay.silent.map { "\(time($0)) ago" } ?? "never",
            ])
        }
        return table.text
    }

    private static func force(of relay: AdministrationReply.RelayEntry) -> String {
        guard let applied = relay.applied else { return "-" }
        return relay.leavesOpen == true ? "revision \(applied), new tunnels only" : "revision \(applied)"
    }

    /// `locked X; in force at 1 of 2 relays after 1 s; relay-b has not answered for 14 s`
    static func text(of report: RelayReport) -> String {
        let force =
            "in force at \(report.inForce) of \(Count.of(report.relays, "relay")) after \(time(report.milliseconds))"
        return ([force] + report.missing.map { text(of: $0) }).joined(separator: "; ")
    }

    private static func text(of relay: RelayReport.Missing) -> String {
        if relay.leavesOpen == true { return "\(relay.name) judges new tunnels by it, but open ones may go on" }
        guard let silent = relay.silent else { return "\(relay.name) has never answered" }
        // One that answers, but is slow to apply, has not been silent.
        return silent < 2000
            ? "\(relay.name) has not applied it yet" : "\(relay.name) has not answered for \(time(silent))"
    }

    private static func time(_ milliseconds: Int64) -> String {
        milliseconds < 1000 ? "\(milliseconds) ms" : "\(milliseconds / 1000) s"
    }
}
