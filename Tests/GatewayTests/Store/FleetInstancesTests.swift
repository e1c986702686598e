import Foundation
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
        ])
        await #expect(throws: GatewayError(.store, "")) {
            try await Parts(rows: rows + [foreign], length: 2).instances(after: 0, key)
        }
    }

    @Test func aCancelledReadIsNotTakenForTheWhole() async throws {
        let task = Task {
            withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await Parts(rows: rows, length: 1).instances(after: 0, key)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
