/// Records of instances that were read, each with the set of its row.
struct FleetInstances: Sendable {
    private(set) var records: [InstanceRecord] = []
    private(set) var digests: [FleetDigest] = []

    init() {}

    /// Opens rows.
    init(_ rows: [FleetRow], _ key: FleetKey) throws(GatewayError) {
        let hash = key.instanceHash
        records.reserveCapacity(rows.count)
        digests.reserveCapacity(rows.count)
        for row in rows {
            let record = try key.openInstance(row)
            records.append(record)
            digests.append(hash.digest(of: record))
        }
    }

    mutating func append(_ other: FleetInstances) {
        records += other.records
        digests += other.digests
    }
}

extension FleetTransaction {
    /// How many rows one task opens.
    private static var part: Int { 2048 }

    /// The instances with a change after a revision. A gateway that starts reads one for each instance of its fleet, so
    /// they are opened on all processors, while the database sends the next ones.
    func instances(after revision: Int64, _ key: FleetKey) async throws -> FleetInstances {
        try await withThrowingTaskGroup(of: (Int, FleetInstances).self) { group in
            let (parts, arrived) = AsyncStream.makeStream(of: [FleetRow].self)
            async let sent: Void = send(instancesAfter: revision, to: arrived)
            var count = 0
            for await rows in parts {
                group.addTask { [count] in (count, try FleetInstances(rows, key)) }
                count += 1
            }
            try await sent
            // The stream of a task that is cancelled ends early.
            try Task.checkCancellation()
            var opened = [FleetInstances](repeating: FleetInstances(), count: count)
            for try await (number, instances) in group { opened[number] = instances }
            return opened.reduce(into: FleetInstances()) { $0.append($1) }
        }
    }

    private func send(
        instancesAfter revision: Int64, to parts: AsyncStream<[FleetRow]>.Continuation
    ) async throws {
        defer { parts.finish() }
        try await run(
            "SELECT \(FleetKey.instanceColumns) FROM instance WHERE revision > $1", [.integer(revision)],
            inPartsOf: Self.part
        ) { parts.yield($0) }
    }
}
