import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportURLLoading
import SallyportUnixSocket
import TestSupport
import Testing

/// What a plugin speaks HTTP with that is no host.
@Suite(.serialized, .timeLimit(.minutes(2))) struct LocalPeerTests {
    /// Loads `peer:TARGET` from what listens at a socket.
    private struct Handler: RequestHandler {
        let peer: LocalPeer
        var scheme = "http"

        func canHandle(_ request: LoadRequest) -> Bool { request.url.scheme == "peer" }

        func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
            let url = try RequestURL("\(scheme)://daemon\(request.url.path)")
            try await response.forward(response.exchange(request, as: url, with: peer))
        }
    }

    private let daemon: Daemon

    init() async throws { daemon = try await Daemon() }

    private func peer(_ socket: String = "one") -> LocalPeer { .unixSocket(daemon.socket(socket)) }

    private func session(_ handler: Handler) -> SecureSession {
        var configuration = SessionConfiguration()
        configuration.handlers = [handler]
        return URLLoadingSystem(gate: ClosedGate()).makeSession(configuration)
    }

    private func text(_ session: SecureSession) async throws -> String {
        String(decoding: try await session.data(for: .get("peer:/name")).body, as: UTF8.self)
    }

    @Test func aPeerIsAskedAsThePluginSays() async throws {
        #expect(try await text(session(Handler(peer: peer()))) == "one daemon GET /name")
        let body = try await session(Handler(peer: peer())).data(for: .get("peer:/file")).body
        #expect(body == Daemon.file)
    }

    @Test func theAnswerHasTheRequestsOwnURL() async throws {
        let response = try await session(Handler(peer: peer())).bytes(for: .get("peer:/name"))
        _ = try await response.body.collect(upTo: .kibibytes(1))
        #expect("\(response.url)" == "peer:/name" && response.facts.hops.map { "\($0.url)" } == ["peer:/name"])
    }

    @Test func aSocketWithoutAListenerIsACannotConnect() async throws {
        await #expect(throws: LoadError(.cannotConnect, "")) {
            try await text(session(Handler(peer: peer("nobody"))))
        }
    }

    @Test func anotherSchemeIsNotSpoken() async throws {
        let handler = Handler(peer: peer(), scheme: "https")
        await #expect(throws: LoadError(.unsupportedScheme, "")) { try await text(session(handler)) }
    }
}
