import Testing

@testable import SallyportGateway

/// What a list of the audit trail keeps while it reads one chain after the other.
@Suite struct AuditSelectionTests {
    /// Of 40 chains, whose entries are in turn by time.
    private static let chains = (0..<40).map { chain in
        (1...100).map { number in
            AuditEntry(
                chain: "chain \(chain)", number: Int64(number), time: Int64(number * 40 + chain), fields: [:],
                previous: [], hash: [])
        }
    }

    private func selection(of query: AuditQuery, _ chains: some Sequence<[AuditEntry]>) -> [Int64] {
        var selection = AuditSelection(of: query)
        for chain in chains {
            selection.add(chain)
            #expect(selection.entries.count <= query.limit)
        }
        return selection.entries.map(\.time)
    }

    @Test(arguments: [1, 7, 100]) func ofManyChainsNoMoreIsKeptThanTheLimit(_ limit: Int) {
        let times = Self.chains.joined().map(\.time).sorted()
        // The order of the chains is any.
        for chains in [Self.chains, Self.chains.reversed()] {
            #expect(selection(of: AuditQuery(limit: limit), chains) == Array(times.suffix(limit)))
            #expect(selection(of: AuditQuery(after: 0, limit: limit), chains) == Array(times.prefix(limit)))
        }
    }

    @Test func belowTheLimitAllAreThere() {
        #expect(selection(of: AuditQuery(limit: 5000), Self.chains).count == 4000)
    }
}
