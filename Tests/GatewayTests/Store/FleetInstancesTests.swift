import Foundation
import HashTreeCollections
import SallyportBase
import SallyportWire
import Testing

@testable import SallyportGateway

/// The instances of a fleet, opened in parts while the next ones arrive.
@Suite struct FleetInstancesTests {
    private let key: FleetKey
    private let records: [InstanceRecord]
    private let rows: [FleetRow]

    init() throws {
        let key = try #require(FleetKey(FleetKey.generate()))
        records = try (0..<9).map { number in
            let name = try #require(InstanceName("sallyport://com.example.report/\(InstanceIdentifier())"))
            var record = InstanceRecord(
                name: name, user: "ann", userID: UserIdentifier(), certificate: .init([]), activated: .distantPast)
            record.epoch = Int64(number)
            record.announced = 0
            return record
        }
        rows = try records.map { record in
            let id = record.name.instance.description
            return FleetRow([
                .text(id), .integer(record.epoch), .null, try key.seal(record, table: "instance", row: id), .integer(0),
                key.holder(record.grant),
            ])
        }
        self.key = key
    }

    /// Gives the rows in parts of a length.
    private struct Parts: FleetTransaction {
        let rows: [FleetRow]
        let length: Int

        func run(_ statement: String, _ values: [FleetValue]) async throws -> [FleetRow] { rows }

        func run(
            _ statement: String, _ values: [FleetValue], inPartsOf count: Int, _ take: @Sendable ([FleetRow]) -> Void
        ) async throws {
            for start in stride(from: 0, to: rows.count, by: length) {
                take(Array(rows[start..<min(start + length, rows.count)]))
            }
        }
    }

    @Test(arguments: [1, 2, 4, 9, 20]) func partsAreJoinedInTheirOrder(_ length: Int) async throws {
        let read = try await Parts(rows: rows, length: length).instances(after: 0, key)
        #expect(read.records == records)
        #expect(read.digests == records.map { key.instanceHash.digest(of: $0) })
    }

    @Test func noRowsAreNoInstances() async throws {
        #expect(try await Parts(rows: [], length: 1).instances(after: 0, key).records.isEmpty)
    }

    @Test func oneRowOfAnotherFleetRefusesAll() async throws {
        let other = try #require(FleetKey(FleetKey.generate()))
        let id = records[0].name.instance.description
        let foreign = FleetRow([
            .text(id), .integer(0), .null, try other.seal(records[0], table: "instance", row: id), .integer(0),
            key.holder(records[0].grant),
        ])
        await #expect(throws: GatewayError(.store, "")) {
            try await Parts(rows: rows + [foreign], length: 2).instances(after: 0, key)
        }
    }

    /// The column `holder` is outside of the seal.
    @Test func oneRowUnderAnotherRightRefusesAll() async throws {
        let id = records[0].name.instance.description
        let moved = FleetRow([
            .text(id), .integer(0), .null, try key.seal(records[0], table: "instance", row: id), .integer(0),
            key.holder(records[1].grant),
        ])
        await #expect(throws: GatewayError(.store, "")) {
            try await Parts(rows: rows + [moved], length: 2).instances(after: 0, key)
        }
    }

    /// The instance would otherwise come back once the right is given again.
    @Test func anInstanceThatHidesFromItsRightRefusesTheEndOfTheRight() async throws {
        let hidden = records[3]
        let shown = Parts(rows: [], length: 1)
        await #expect(throws: GatewayError(.store, "")) {
            try await shown.holders(of: [hidden.grant], known: [hidden.name.instance: hidden], key)
        }
        #expect(try await shown.holders(of: [records[4].grant], known: [hidden.name.instance: hidden], key).isEmpty)
    }

    @Test func aCancelledReadIsNotTakenForTheWhole() async throws {
        let task = Task {
            withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await Parts(rows: rows, length: 1).instances(after: 0, key)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}

/// The access keys that a lost right takes along.
@Suite struct FleetKeyRemovalTests {
    /// Has two keys for each holder, and notes which are deleted.
    private struct Keys: FleetTransaction {
        let deleted = Lock<[[UInt8]]>([])

        func run(_ statement: String, _ values: [FleetValue]) async throws -> [FleetRow] {
            guard case .bytes(let value)? = values.first else { throw GatewayError(.internalFailure, statement) }
            guard statement.hasPrefix("DELETE") else {
                return [FleetRow([.bytes(Array(value.reversed()))]), FleetRow([.bytes(value)])]
            }
            deleted.withLock { $0.append(value) }
            return []
        }

        func run(
            _ statement: String, _ values: [FleetValue], inPartsOf count: Int, _ take: @Sendable ([FleetRow]) -> Void
        ) async throws {}
    }

    /// Or else two transactions could wait for each other.
    @Test func keysOfSeveralRightsAreDeletedInOneOrder() async throws {
        let key = try #require(FleetKey(FleetKey.generate()))
        let grants = (0..<9).map { Grant(user: UserIdentifier(), entitlement: "com.example.report\($0)") }
        let keys = Keys()
        try await keys.destroyKeys(of: Set(grants), key)
        let deleted = keys.deleted.withLock { $0 }
        #expect(deleted.count == 18)
        #expect(deleted == deleted.sorted { $0.lexicographicallyPrecedes($1) })
    }
}
