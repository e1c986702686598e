import FoundationEssentials
import Testing

@testable import SallyportCommandLine
@testable import SallyportGateway

/// What `gateway fleet` prints for people.
@Suite struct FleetTextTests {
    private func lines(revision: Int64?, fault: String? = nil) -> [Substring] {
        let fleet = AdministrationReply.FleetEntry(revision: revision, fault: fault, applied: 7, relays: [])
        return FleetText.text(of: fleet, at: Date()).split(separator: "\n", omittingEmptySubsequences: false)
    }

    @Test func aGatewayThatIsBehindSaysSo() {
        #expect(
            lines(revision: 8) == [
                "store     at revision 8", "this one  has revision 7 in force, and is behind", "",
                "no gateway has run yet", "", "no relay is enrolled",
            ])
        #expect(lines(revision: 7)[1] == "this one  has revision 7 in force")
    }

    @Test func aWarningStandsBelowTheStore() {
        var fleet = AdministrationReply.FleetEntry(revision: 7, applied: 7, relays: [])
        fleet.warning = "Two hosts."
        let lines = FleetText.text(of: fleet, at: Date()).split(separator: "\n")
        #expect(lines[0] == "store     at revision 7" && lines[1] == "warning   Two hosts.")
        #expect(lines[2] == "this one  has revision 7 in force")
    }

    @Test func whatTheStoreSaysIsShown() {
        let lines = lines(revision: nil, fault: "The database cannot be reached.")
        #expect(lines[0] == "store     FAULT: The database cannot be reached.")
        #expect(lines[1] == "this one  has revision 7 in force")
    }

    @Test func aGuardThatLeavesTunnelsOpenIsNotInForce() {
        let report = RelayReport(
            inForce: 0, relays: 1, milliseconds: 5,
            missing: [.init(name: "squid.example", silent: 3, leavesOpen: true)])
        let text = RelayTable.text(of: report)
        #expect(text.hasPrefix("in force at 0 of 1 relay after 5 ms; squid.example "))
        #expect(text.hasSuffix("judges new tunnels by it, but open ones may go on"))
    }

    @Test func theListSaysOfAGuardThatItLeavesTunnelsOpen() {
        var entry = AdministrationReply.RelayEntry(
            name: "squid.example", cluster: "squid", port: nil, applied: 7, leavesOpen: true, silent: 3, id: "")
        #expect(RelayTable.text(of: [entry]).contains("revision 7, new tunnels only"))
        entry.leavesOpen = nil
        #expect(RelayTable.text(of: [entry]).contains("revision 7  "))
    }
}
