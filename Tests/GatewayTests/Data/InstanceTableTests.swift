import Foundation
import HashTreeCollections
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// What the change of one instance costs where there are many.
@Suite struct InstanceTableTests {
    @Test func aChangeOfOneOfManyInstancesCopiesNoTable() throws {
        let user = UserIdentifier()
        var directory = Directory()
        try directory.addUser("ann", id: user)
        try directory.addApplication("com.example.report", version: "1.0.0.0")
        try directory.entitle("ann", to: "com.example.report", version: "1.0.0.0")
        let entitlement = try #require(EntitlementIdentifier("com.example.report"))
        var table = InstanceTable()
        for _ in 0..<100_000 {
            let name = InstanceName(entitlement: entitlement, instance: InstanceIdentifier())
            table[name.instance] = InstanceRecord(
                name: name, user: "ann", userID: user, certificate: .init([]), activated: .distantPast)
        }
        let first = RelaySnapshot(directory: directory, instances: table) { Date() }
        let ids = Array(table.keys.prefix(2000))
        var published = first
        let start = processorTime()
        for id in ids {
            table[id]?.withdrawals.insert(.locked)
            published = published.with(table)
        }
        // Two thousand copies of the table would take minutes.
        #expect(processorTime() - start < .seconds(5))
        for id in ids.prefix(10) {
            let (before, after) = (try #require(first.record(of: id)), try #require(published.record(of: id)))
            #expect(first.isActive(before) && !published.isActive(after))
        }
    }
}
