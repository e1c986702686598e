import TestSupport
import Testing

/// The gateway's threads for look-ups of names, in a process of its own.
@Suite(.timeLimit(.minutes(3))) struct ResolverThreadTests {
    @Test func aGatewayHasNoneBeforeItsFirstLookUp() async throws {
        let site = try await Site.start()
        let names = ThreadNames.all(of: site.gateway)
        // Those of NIO's own pools have other names.
        #expect(names.contains { $0.hasPrefix("NIO-") })
        #expect(!names.contains { $0.hasPrefix("TP-#") })
    }
}
