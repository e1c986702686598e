import Foundation
import SallyportBase
import SallyportWire
import Testing

@testable import SallyportGateway

/// What the tables hold is taken for what belongs to a revision, as after a restoration. A statement has to end within
/// seconds, so none may concern all instances of a large fleet.
@Suite struct FleetTakingTests {
    private static let count = 1201

    /// A table of instances.
    private struct Table: FleetTransaction {
        struct Written: Sendable, Hashable {
            let revision: FleetValue
            let number: FleetValue
        }

        /// In the order of their identifiers.
        let rows: [(id: String, row: FleetRow)]
        let written = Lock<[String: Written]>([:])
        /// How many rows each statement that concerns instances has read or written.
        let counts = Lock<[Int]>([])

        func run(_ statement: String, _ values: [FleetValue]) async throws -> [FleetRow] {
            if statement.hasPrefix("UPDATE instance") {
                write(values)
                return []
            }
            guard statement.contains("FROM instance") else { return [] }
            let found = try selected(by: statement, after: values.first)
            counts.withLock { $0.append(found.count) }
            return found
        }

        /// All rows, unless the statement has a limit.
        private func selected(by statement: String, after last: FleetValue?) throws -> [FleetRow] {
            let words = statement.split(whereSeparator: \.isWhitespace)
            guard let place = words.firstIndex(of: "LIMIT"), case .text(let last)? = last else {
                return rows.map(\.row)
            }
            let limit = try #require(Int(words[place + 1]))
            return rows.filter { $0.id > last }.prefix(limit).map(\.row)
        }

        private func write(_ values: [FleetValue]) {
            let pairs = values.dropFirst()
            counts.withLock { $0.append(pairs.count / 2) }
            for place in stride(from: pairs.startIndex, to: pairs.endIndex, by: 2) {
                guard case .text(let id) = pairs[place] else { continue }
                written.withLock { $0[id] = Written(revision: values[0], number: pairs[place + 1]) }
            }
        }

        func run(
            _ statement: String, _ values: [FleetValue], inPartsOf count: Int, _ take: @Sendable ([FleetRow]) -> Void
        ) async throws {}
    }

    private let key: FleetKey
    private let records: [InstanceRecord]

    init() throws {
        key = try #require(FleetKey(FleetKey.generate()))
        records = try (0..<Self.count).map { number in
            let name = try #require(InstanceName("sallyport://com.example.report/\(InstanceIdentifier())"))
            var record = InstanceRecord(
                name: name, user: "ann", userID: UserIdentifier(), certificate: .init([]), activated: .distantPast)
            for _ in 0..<(number % 3) { record.countUpdate(isAnnounced: false) }
            return record
        }
    }

    private func table() throws -> Table {
        let rows = try records.map { record -> (id: String, row: FleetRow) in
            let id = record.name.instance.description
            let row = FleetRow([
                .text(id), .integer(0), .null, try key.seal(record, table: "instance", row: id), .integer(0),
                key.holder(record.grant),
            ])
            return (id, row)
        }
        return Table(rows: rows.sorted { $0.id < $1.id })
    }

    @Test(arguments: [false, true]) func instancesAreTakenSomeAtATime(_ areNew: Bool) async throws {
        let table = try table()
        let mark = try await table.takeMark(key, at: 7, areInstancesNew: areNew)
        var all = FleetDigest()
        for record in records { all.toggle(key.instanceHash.digest(of: record.name.instance, record.updates ?? 0)) }
        #expect(mark.revision == 7 && mark.instances == all)
        let written = table.written.withLock { $0 }
        #expect(written.count == Self.count)
        for record in records {
            let expected = Table.Written(
                revision: areNew ? .integer(7) : .null, number: .integer(record.updates ?? 0))
            #expect(written[record.name.instance.description] == expected)
        }
        #expect(table.counts.withLock { $0 }.allSatisfy { $0 <= 1000 })
    }
}
