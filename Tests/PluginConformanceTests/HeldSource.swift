import HTTPTypes
import SallyportBase
import SallyportLoading
import SallyportPluginConformance
import SallyportURLLoading

/// A source that gives one byte and holds the next back until it is let go; one for each handler type.
final class HeldSource: Sendable {
    private let isOpen = Lock(false)

    /// Waits until the source is let go.
    func rest() async throws {
        while !isOpen.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
        isOpen.withLock { $0 = false }
    }

    func release() { isOpen.withLock { $0 = true } }
    func hold() { isOpen.withLock { $0 = false } }
}

struct Streams: BrokenHandler {
    static let source = HeldSource()
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        Self.source.hold()
        try response.begin(HTTPResponse(status: .ok))
        try await response.write([1])
        try await Self.source.rest()
        try await response.write([2])
    }
}

struct CollectsFirst: BrokenHandler {
    static let source = HeldSource()
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        Self.source.hold()
        try await Self.source.rest()
        try response.begin(HTTPResponse(status: .ok))
        try await response.write([1, 2])
    }
}

struct WaitsDeafly: BrokenHandler {
    static let source = HeldSource()
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        Self.source.hold()
        try response.begin(HTTPResponse(status: .ok))
        try await response.write([1])
        try await Task.detached { try await Self.source.rest() }.value
        try await response.write([2])
    }
}

struct TakesTheStopForTheEnd: BrokenHandler {
    static let source = HeldSource()
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        Self.source.hold()
        try response.begin(HTTPResponse(status: .ok))
        try await response.write([1])
        guard (try? await Self.source.rest()) != nil else { return }
        try await response.write([2])
    }
}

/// Sends as much back as came of the request's body at once.
struct ReadsOneChunk: BrokenHandler {
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        try response.begin(HTTPResponse(status: .ok))
        let isWhole = if case .bytes = request.body?.source { true } else { false }
        try await response.write(isWhole ? [1, 2] : [1])
    }
}
