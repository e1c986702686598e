import SallyportCore
import Testing

@Suite struct TLSVersionTests {
    @Test func versionsAreOrdered() { #expect(TLSVersion.allCases == TLSVersion.allCases.sorted()) }

    @Test func blocksAndFloorRestrict() {
        let all = TLSVersions(Set(TLSVersion.allCases))
        #expect(all.restricted(blocking: [.tls10], floor: .tls12).allowed == [.tls12, .tls13])
        #expect(all.restricted(blocking: [], floor: nil) == all)
        #expect(TLSVersions.standard.restricted(blocking: [.tls12, .tls13], floor: nil).allowed.isEmpty)
        #expect(TLSVersions.standard.minimum == .tls12 && TLSVersions.standard.maximum == .tls13)
    }
}
