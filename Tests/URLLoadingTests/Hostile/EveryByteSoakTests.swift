import TestSupport
import Testing
import TransportTestSupport

/// Exchanges that are ended at each of their bytes leave nothing behind: neither a descriptor nor memory.
///
/// `make soak` ends as many as it is told, 10,000, after as many for warm-up: the threads of the server have memory of their
/// own, whose pools grow for some thousands.
@Suite(.serialized, .timeLimit(.minutes(10)), .onEveryCarrier, .enabled(if: Soak.isOn)) struct EveryByteSoakTests {
    /// How much more memory there may be: the allocator's pools are in it.
    private static let tolerance = 1.05

    @Test func endedExchangesLeaveNothingBehind() async throws {
        let count = Soak.transfers ?? 0
        let standstill = try Standstill()
        try await end(count, of: standstill)
        let before = Holdings.now
        try await end(count, of: standstill)
        // What ends by itself a moment later is no leak: that stays.
        let isClosed = try await eventually { Holdings.now.descriptors <= before.descriptors }
        let after = Holdings.now
        #expect(isClosed, "\(before) to \(after)")
        #expect(Double(after.resident) <= Double(before.resident) * Self.tolerance, "\(before) to \(after)")
        print("Every byte: \(count) ended; \(before) before, \(after) after")
    }

    private func end(_ count: Int, of standstill: Standstill) async throws {
        var (ended, round) = (0, 0)
        while ended < count {
            let ending = Standstill.Ending.allCases[round % Standstill.Ending.allCases.count]
            let codes = try await standstill.walk(to: ending)
            try #require(codes.allSatisfy { $0 == ending.code })
            try #require(try await standstill.isQuiet())
            (ended, round) = (ended + codes.count, round + 1)
        }
    }
}
