import SallyportCore
import Testing

@Suite struct TLSRestrictionTests {
    @Test func nothingForbiddenIsNoRestriction() {
        #expect(TLSRestriction(blocking: [], floor: nil) == nil)
    }

    @Test(
        arguments: [
            ([], .tls13, "The policy's lowest version is TLS1.3."),
            ([.tls11, .tls10], nil, "The policy blocks TLS1.0 and TLS1.1."),
            ([.tls13], .tls12, "The policy's lowest version is TLS1.2. The policy blocks TLS1.3."),
        ] as [(Set<TLSVersion>, TLSVersion?, String)])
    func whatIsForbiddenIsTold(_ blocked: Set<TLSVersion>, _ floor: TLSVersion?, _ text: String) throws {
        #expect(try #require(TLSRestriction(blocking: blocked, floor: floor)).description == text)
    }
}
