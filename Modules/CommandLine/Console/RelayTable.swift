import SallyportGateway

/// Relays, as an administrator reads them.
enum RelayTable {
    static func text(of relays: [AdministrationReply.RelayEntry]) -> String {
        guard !relays.isEmpty else { return "no relay is enrolled" }
        var table = Table(["RELAY", "CLUSTER", "PORT", "IN FORCE", "LAST ANSWER"])
        for relay in relays {
            table.append([
                relay.name, relay.cluster, relay.port.map { "\($0)" } ?? "-",
                relay.applied.map { "revision \($0)" } ?? "-", relay.silent.map { "\(time($0)) ago" } ?? "never",
            ])
        }
        return table.text
    }

    /// `locked X; in force at 1 of 2 relays after 1 s; relay-b has not answered for 14 s`
    static func text(of report: RelayReport) -> String {
        let force =
            "in force at \(report.inForce) of \(Count.of(report.relays, "relay")) after \(time(report.milliseconds))"
        let missing = report.missing.map { relay in
            relay.silent.map { silent in
                // One that answers, but is slow to apply, has not been silent.
                silent < 2000
                    ? "\(relay.name) has not applied it yet" : "\(relay.name) has not answered for \(time(silent))"
            } ?? "\(relay.name) has never answered"
        }
        return ([force] + missing).joined(separator: "; ")
    }

    private static func time(_ milliseconds: Int64) -> String {
        milliseconds < 1000 ? "\(milliseconds) ms" : "\(milliseconds / 1000) s"
    }
}
