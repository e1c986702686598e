public import HTTPTypes
public import SallyportBase
public import SallyportCore
public import SallyportLoading

/// A request for testing a handler, and the expected result.
///
/// It is loaded many times, and interrupted too: its source must be able to answer it as often, and its body, if it has
/// one, must be replayable.
public struct SampleRequest: Sendable {
    /// The expected result of a sample.
    public enum Expectation: Sendable {
        /// An answer with this status; a nil body means any body, the same each time.
        case answer(status: HTTPResponse.Status, body: [UInt8]?)
        /// A `LoadError` with this code.
        case failure(LoadError.Code)
    }

    /// A source that pauses in the middle of its answer.
    struct Hold: Sendable {
        var count: Int
        var release: @Sendable () async -> Void
    }

    /// The sample's name in a report.
    public let name: String
    /// What is loaded.
    public let request: LoadRequest
    /// How the load must end.
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
    /// - Parameters:
    ///   - name: the sample's name in a report.
    ///   - request: loaded many times.
    ///   - status: the answer's.
    ///   - body: nil if the test does not know it.
    public static func answers(
        _ name: String, _ request: LoadRequest, status: HTTPResponse.Status = .ok, body: [UInt8]? = nil
    ) -> SampleRequest {
        SampleRequest(name, request, .answer(status: status, body: body))
    }

    /// A request that fails.
    public static func fails(_ name: String, _ request: LoadRequest, with code: LoadError.Code) -> SampleRequest {
        SampleRequest(name, request, .failure(code))
    }

    /// A request with a slow source: it sends the head and `count` bytes, and the rest after `release`.
    ///
    /// - Parameters:
    ///   - name: the sample's name in a report.
    ///   - request: loaded many times.
    ///   - status: the answer's.
    ///   - count: how many bytes the handler must have passed on while the source pauses.
    ///   - release: lets the source continue. Called once for each load, even for cancelled ones; in the next load, the
    ///     source pauses again.
    public static func holdsBack(
        _ name: String, _ request: LoadRequest, status: HTTPResponse.Status = .ok, after count: ByteCount,
        release: @escaping @Sendable () async -> Void
    ) -> SampleRequest {
        SampleRequest(
            name, request, .answer(status: status, body: nil), hold: Hold(count: count.bytes, release: release))
    }
}
