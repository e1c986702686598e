import SallyportURLLoading
import Testing

/// What a session does unless it is told otherwise, as the guides promise it.
@Suite struct SessionDefaultsTests {
    @Test func timesAndCountsAreThePromisedOnes() {
        let configuration = SessionConfiguration()
        #expect(configuration.idleTimeout == .seconds(60))
        #expect(configuration.resourceTimeout == .seconds(604_800))
        #expect(configuration.connectTimeout == .seconds(10))
        #expect(configuration.redirectLimit == 20)
        #expect(configuration.connectionsPerOrigin == 6)
    }

    @Test func nothingThatWeakensASessionIsAllowed() {
        let configuration = SessionConfiguration()
        #expect(!configuration.allowsInsecureRedirects && !configuration.allowsBasicOverPlainHTTP)
        #expect(!configuration.allowsNTLMv1 && !configuration.waitsForConnectivity)
    }
}
