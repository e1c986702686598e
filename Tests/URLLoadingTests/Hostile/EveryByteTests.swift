import SallyportLoading
import TestSupport
import Testing
import TransportTestSupport

/// An exchange may be ended from our side at any of its bytes.
@Suite(.timeLimit(.minutes(2))) struct EveryByteTests {
    private func expectEnds(of standstill: Standstill, _ ending: Standstill.Ending) async throws {
        let codes = try await standstill.walk(to: ending)
        for (place, code) in zip(standstill.places, codes) { #expect(code == ending.code, "\(place)") }
        #expect(try await standstill.isQuiet())
    }

    @Test(.onEveryCarrier, arguments: Standstill.Ending.allCases)
    func exchangeEndsWithItsReasonAtEachByte(_ ending: Standstill.Ending) async throws {
        try await expectEnds(of: Standstill(), ending)
    }

    /// Only every third one has an exchange, since each exchange takes a handshake.
    @Test(.onBothEngines, arguments: Standstill.Ending.allCases)
    func exchangeOverTLSEndsWithItsReasonAtTheBytes(_ ending: Standstill.Ending) async throws {
        let all = StandstillPlace.all
        let places = stride(from: 0, to: all.count, by: 3).map { all[$0] }
        try await expectEnds(of: Standstill(at: places, isSecure: true), ending)
    }
}
