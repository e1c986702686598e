import SallyportLoading
import TestSupport
import Testing
import TransportTestSupport

/// An exchange may be ended from our side at any of its bytes.
@Suite(.timeLimit(.minutes(1)), .onEveryCarrier) struct EveryByteTests {
    @Test(arguments: Standstill.Ending.allCases)
    func exchangeEndsWithItsReasonAtEachByte(_ ending: Standstill.Ending) async throws {
        let standstill = try Standstill()
        let codes = try await standstill.walk(to: ending)
        for (place, code) in codes.enumerated() { #expect(code == ending.code, "byte \(place)") }
        #expect(try await standstill.isQuiet())
    }
}
