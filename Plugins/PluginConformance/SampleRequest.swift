public import HTTPTypes
public import SallyportBase
public import SallyportCore
public import SallyportLoading

/// A request that a handler is tried with, and what must come of it.
///
/// It is loaded many times, also broken off in the middle: its source must be able to answer it as often, and its body,
/// where it has one, to be sent again.
public struct SampleRequest: Sendable {
    /// What must come of a sample.
    public enum Expectation: Sendable {
        /// An answer with this status; nil is any body, the same each time.
        case answer(status: HTTPResponse.Status, body: [UInt8]?)
        /// A `LoadError` with this code.
        case failure(LoadError.Code)
    }

    /// A source that stops in the middle of its answer.
    struct Hold: Sendable {
        var count: Int
        var release: @Sendable () async -> Void
    }

    /// Names the sample in a report.
    public let name: String
    public let request: LoadRequest
    public let expectation: Expectation
    let hold: Hold?

    private init(_ name: String, _ request: LoadRequest, _ expectation: Expectation, hold: Hold? = nil) {
        self.name = name
        self.request = request
        self.expectation = expectation
        self.hold = hold
    }

    /// A request that is answered, in the same way each time, with at most ``PluginConformance/longestAnswer``.
    ///
    /// - Parameter body: nil where the test does not know it.
    public static func answers(
        _ name: String, _ request: LoadRequest, status: HTTPResponse.Status = .ok, body: [UInt8]? = nil
    ) -> SampleRequest {
        SampleRequest(name, request, .answer(status: status, body: body))
    }

    /// A request that fails.
    public static func fails(_ name: String, _ request: LoadRequest, with code: LoadError.Code) -> SampleRequest {
        SampleRequest(name, request, .failure(code))
    }

    /// A request whose source is slow: it gives the head and `count` bytes, and the rest once it is let go.
    ///
    /// - Parameters:
    ///   - count: what the handler must have handed over while the source holds the rest back.
    ///   - release: lets the source go on. Called once for each load, cancelled ones included; the source holds back
    ///     again in the next one.
    public static func holdsBack(
        _ name: String, _ request: LoadRequest, status: HTTPResponse.Status = .ok, after count: ByteCount,
        release: @escaping @Sendable () async -> Void
    ) -> SampleRequest {
        SampleRequest(
            name, request, .answer(status: status, body: nil), hold: Hold(count: count.octets, release: release))
    }
}
