import HTTPTypes
import SallyportCore
import SallyportLoading
import SallyportTransport
import Testing
import TransportTestSupport

@testable import SallyportURLLoading

/// Loads `http` over streams of bytes, as a plugin may: what comes of a server must be the same as over connections.
actor StreamHandler: RequestHandler {
    /// For sessions that tests make in the current task.
    @TaskLocal static var isUsed = false

    /// Whether a load uses the stream of an earlier one, if that is still possible.
    private let keepsStreams: Bool
    private var peers: [Endpoint: LocalPeer] = [:]

    init(keepsStreams: Bool) { self.keepsStreams = keepsStreams }

    nonisolated func canHandle(_ request: LoadRequest) -> Bool { request.url.scheme == "http" }

    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        guard let endpoint = request.url.endpoint else { throw LoadError(.invalidRequest, "The URL has no host.") }
        if let peer = peers[endpoint], try await load(request, from: peer, into: response) { return }
        let peer = LocalPeer.stream(try await response.tunnels.open(RoutedTunnelRequest(to: endpoint)))
        if keepsStreams { peers[endpoint] = peer }
        try await response.forward(response.exchange(request, as: request.url, with: peer))
    }

    /// - Returns: false if the peer's stream has ended.
    private func load(
        _ request: LoadRequest, from peer: LocalPeer, into response: ResponseWriter
    ) async throws -> Bool {
        let answer: LoadResponse
        do {
            answer = try await response.exchange(request, as: request.url, with: peer)
        } catch  where error.code == .cannotConnect {
            return false
        }
        try await response.forward(answer)
        return true
    }
}

/// Runs each test of a suite with both engines, and then over streams of bytes.
struct EveryCarrier: TestTrait, SuiteTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        let engines: BothEngines = .onBothEngines
        try await engines.provideScope(for: test, testCase: testCase, performing: function)
        guard testCase != nil else { return }
        try await StreamHandler.$isUsed.withValue(true) {
            try await HTTP1Engine.$chosen.withValue(.own) { try await function() }
        }
    }
}

extension Trait where Self == EveryCarrier {
    static var onEveryCarrier: Self { Self() }
}
