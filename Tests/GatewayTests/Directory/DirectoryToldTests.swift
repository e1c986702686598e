import Foundation
import SallyportWire
import Testing

@testable import SallyportGateway

/// What apps are told and act on by themselves, and the lease, as an administrator sets them.
@Suite struct DirectoryToldTests {
    private let app = "com.example.report"
    private let user = "ann@example.com"

    @Test(arguments: [
        "", "ann", "@", "ann@", "@CORP", "a@b@c", "ann @CORP", "ann@CORP\n", "ann@C\u{a0}", "ann@C\u{85}",
        "a@" + String(repeating: "c", count: 1023),
    ])
    func otherTextIsNoPrincipalName(_ name: String) throws {
        var directory = try DirectoryTests.sample()
        let before = directory
        let error = #expect(throws: GatewayError.self) { try directory.setPrincipalName(name, of: user) }
        #expect(error?.message.contains("USER@REALM") == true && directory == before)
    }

    @Test func aPrincipalNameIsSetKeptAndTakenAway() throws {
        var directory = try DirectoryTests.sample()
        try directory.setPrincipalName("a@" + String(repeating: "c", count: 1022), of: user)
        try directory.setPrincipalName("ann@CORP", of: user)
        // Removing an app touches every user.
        try directory.removeApplication(app, version: "1.0.0.0")
        #expect(directory.users[user]?.principalName == "ann@CORP")
        try directory.setPrincipalName(nil, of: user)
        #expect(directory.users[user]?.principalName == nil)
        #expect(throws: GatewayError.self) { try directory.setPrincipalName("bob@CORP", of: "bob") }
    }

    @Test func ofTheLogsOneSettingLeavesTheOther() throws {
        var directory = try DirectoryTests.sample()
        try directory.setLogging(of: app, isDetailed: nil, isKeptFromUsers: true)
        #expect(directory.applications[app]?.logging == .init(isDetailed: true, isKeptFromUsers: true))
        try directory.setLogging(of: app, isDetailed: false, isKeptFromUsers: false)
        #expect(directory.applications[app]?.logging == nil)
        let applied = try directory.applying(
            Declaration(yaml: "apps: [{id: \(app), versions: [], preventUserDetailedLogs: true}]"), prune: false)
        #expect(applied.applications[app]?.logging == .init(isDetailed: false, isKeptFromUsers: true))
        #expect(directory.difference(to: applied) == ["+ app \(app) detailed logs off, not by users"])
    }

    @Test(arguments: ["text", "[]", "7", "{", "{} {}", "\u{0}"]) func extraInformationIsAnObject(_ json: String) throws
    {
        var directory = try DirectoryTests.sample()
        let error = #expect(throws: GatewayError.self) { try directory.setExtraInfo(json, of: app) }
        #expect(error?.message == "Extra information is a JSON object of at most 65536 bytes.")
    }

    @Test func extraInformationHasALimitAndAnEnd() throws {
        var directory = try DirectoryTests.sample()
        let frame = "{\"a\":\"\"}".utf8.count
        let longest = "{\"a\":\"" + String(repeating: "x", count: (64 << 10) - frame) + "\"}"
        try directory.setExtraInfo(longest, of: app)
        #expect(directory.applications[app]?.extraInfo == longest)
        #expect(throws: GatewayError.self) { try directory.setExtraInfo(longest + " ", of: app) }
        for end in ["", "{}", "{ }\n"] {
            try directory.setExtraInfo("{\"a\":1}", of: app)
            try directory.setExtraInfo(end, of: app)
            #expect(directory.applications[app]?.extraInfo == nil, "\(end)")
        }
    }

    @Test(arguments: [("5m", 300), ("90m", 5400), ("12h", 43_200), ("7d", 604_800), ("168h", 604_800)])
    func aLeaseIsInMinutesHoursOrDays(text: String, seconds: Int64) throws {
        var directory = Directory()
        try directory.setLease(text)
        #expect(directory.lease == seconds)
        let yaml = try directory.declaration.yaml()
        #expect(try Directory().applying(Declaration(yaml: yaml), prune: true).lease == seconds)
    }

    @Test(arguments: [
        "", "m", "4m", "8d", "169h", "10081m", "12", "12s", "-5m", "+5m", "1.5h", " 5m", "5 m", "99999999d",
    ])
    func anotherLeaseIsRefused(text: String) throws {
        var directory = Directory()
        let error = #expect(throws: GatewayError.self) { try directory.setLease(text) }
        #expect(error?.message == "A lease is 5m to 7d, in minutes, hours or days: 90m, 12h, 3d.")
        #expect(directory.lease == 86_400)
    }

    @Test func theDefaultLeaseIsNotDeclared() throws {
        var directory = Directory()
        try directory.setLease("3d")
        #expect(Directory().difference(to: directory) == ["+ lease 3d"])
        try directory.setLease("24h")
        #expect(directory == Directory())
    }

    @Test func dataOfAnOlderVersionHasNoneOfThis() throws {
        let new = try DirectoryTests.sample()
        let added: Set = ["principalName", "logging", "extraInfo", "leaseLength", "secondary", "defaultDomains"]
        let old = try Self.without(added, JSONSerialization.jsonObject(with: JSONEncoder().encode(new)))
        let read = try JSONDecoder().decode(Directory.self, from: JSONSerialization.data(withJSONObject: old))
        #expect(read.users[user]?.principalName == nil && read.users[user]?.entitlements.isEmpty == false)
        #expect(read.applications[app]?.logging == nil && read.applications[app]?.extraInfo == nil)
        #expect(read.lease == 86_400 && read.servers.map(\.endpoint) == new.servers.map(\.endpoint))
        #expect(read.defaultDomains == nil && read.servers.allSatisfy { $0.secondary == nil })
    }

    private static func without(_ names: Set<String>, _ value: Any) -> Any {
        if let array = value as? [Any] { return array.map { without(names, $0) } }
        guard let object = value as? [String: Any] else { return value }
        return object.filter { !names.contains($0.key) }.mapValues { without(names, $0) }
    }
}
