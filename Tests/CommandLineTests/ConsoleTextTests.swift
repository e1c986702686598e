import FoundationEssentials
import SallyportGateway
import Testing

@testable import SallyportCommandLine

/// What the lists of `admin` print for people.
@Suite struct ConsoleTextTests {
    @Test func appsAreATableOfVersionsAndCounts() {
        let entries: [AdministrationReply.ApplicationEntry] = [
            .init(entitlement: "com.a", versions: ["1.0.0.0", "2.0.0.0"], users: 12, servers: 0)
        ]
        #expect(
            DirectoryTables.table(of: entries) == """
                ENTITLEMENT  VERSIONS          USERS  SERVERS
                com.a        1.0.0.0, 2.0.0.0  12     0
                """)
    }

    @Test func whatAServerDoesNotHaveIsAHyphen() {
        let entries: [AdministrationCommand.ServerEntry] = [
            .init(endpoint: "a.example:443", entitlement: "com.a", priority: 2, route: "relay:west", address: "::1"),
            .init(endpoint: "b.example:443", route: "deny"),
        ]
        #expect(
            DirectoryTables.table(of: entries) == """
                SERVER         APP    PRIORITY  ROUTE       ADDRESS
                a.example:443  com.a  2         relay:west  ::1
                b.example:443  -      -         deny        -
                """)
    }

    @Test func aNetworkIsDeniedOnAllPorts() {
        let entries: [AdministrationReply.RouteEntry] = [
            .init(domain: "corp.example", route: "relay", ports: [80, 443]),
            .init(domain: "10.0.0.0/8", route: "deny", ports: nil),
        ]
        #expect(
            DirectoryTables.table(of: entries) == """
                DOMAIN        ROUTE  PORTS
                corp.example  relay  80,443
                10.0.0.0/8    deny   all
                """)
    }

    @Test func eachRelayOfAClusterIsALine() {
        let entries: [AdministrationReply.ClusterEntry] = [
            .init(name: "east", relays: [.init(endpoint: "c:1")], authorities: [String(repeating: "ab", count: 32)]),
            .init(name: "west", relays: [.init(endpoint: "a:1"), .init(endpoint: "b:1", priority: 2)]),
        ]
        #expect(
            DirectoryTables.table(of: entries) == """
                CLUSTER  RELAY  PRIORITY  AUTHORITY
                east     c:1    1         abababababababab
                west     a:1    1         the gateway's
                west     b:1    2         the gateway's
                """)
    }

    @Test func anEmptyListSaysSo() {
        #expect(DirectoryTables.table(of: [] as [AdministrationReply.ApplicationEntry]) == "no app is added")
        #expect(DirectoryTables.table(of: [] as [AdministrationCommand.ServerEntry]) == "no server is listed")
        #expect(InstanceTable.text(of: [], at: Date()) == "no instance is activated")
    }

    private func entry(lastContact: Date, user: String = "ann") -> AdministrationReply.InstanceEntry {
        .init(
            instance: "i", user: user, entitlement: "com.a", version: "", status: "active", lastContact: lastContact)
    }

    @Test(
        arguments: [
            (0.4, "0 s ago"), (59, "59 s ago"), (185, "3 minutes ago"), (3 * 3600, "3 hours ago"),
            (5 * 86_400, "5 days ago"), (-30, "0 s ago"), (.infinity, "11574074 days ago"),
        ] as [(Double, String)])
    func theLastContactIsToldByItsAge(seconds: Double, text: String) {
        let now = Date(timeIntervalSinceReferenceDate: 8e8)
        let contact = seconds.isFinite ? now - seconds : Date(timeIntervalSinceReferenceDate: -1e300)
        let table = InstanceTable.text(of: [entry(lastContact: contact)], at: now)
        #expect(table.hasSuffix("active  \(text)") && table.contains("LAST CONTACT"), "\(table)")
    }

    @Test func theLastContactIsATimeOfUTCInJSON() {
        let contact = Date(timeIntervalSince1970: 1_700_000_000)
        #expect(JSONOutput.text([entry(lastContact: contact)]).contains(#""lastContact":"2023-11-14T22:13:20Z""#))
    }

    /// Names come from an administrator's file; a table must stay one.
    @Test func controlCharactersDoNotReachATable() {
        let table = InstanceTable.text(of: [entry(lastContact: Date(), user: "a\u{1b}[2J\nb")], at: Date())
        #expect(table.split(separator: "\n").count == 2 && !table.contains("\u{1b}"))
    }

    @Test func withoutATerminalTheRefusalSaysHowToConfirm() {
        let failure = Confirmation.missing(toWipe: [entry(lastContact: Date())])
        #expect(failure.status == .usage && failure.name == "needsConfirmation")
        #expect(failure.description.contains("i of ann (com.a)") && failure.description.contains("--yes"))
        #expect(failure.message.contains("Nothing was done"))
    }
}
