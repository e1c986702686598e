internal import SallyportTransport
package import Testing

/// Runs each test of a suite with each engine of HTTP/1.1: what they make of a server's answer must be the same.
package struct BothEngines: TestTrait, SuiteTrait, TestScoping {
    let engines: [HTTP1Engine]
    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        for engine in engines {
            try await HTTP1Engine.$chosen.withValue(engine) { try await function() }
        }
    }
}

extension Trait where Self == BothEngines {
    /// With ours wherever it can be, so that https servers are offered HTTP/1.1 alone.
    package static var onBothEngines: Self { Self(engines: [.own, .libcurl]) }

    /// With ours where it is without being asked for, so that servers may choose HTTP/2.
    package static var onBothEnginesAsUsual: Self { Self(engines: [.automatic, .libcurl]) }
}
