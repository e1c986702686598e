// recipe: test
import HTTPTypes
import SallyportCore
import SallyportLoading
import SallyportURLLoading
import Testing

/// In place of an authorization: lets one server be reached directly, and no other.
struct OneServer: AccessGate {
    let server: Endpoint

    func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
        let decision = RoutingTable(servers: [.init(server, route: .direct)], default: .deny).decide(endpoint)
        guard decision.route == .direct else { throw AccessDenied(.denied(decision)) }
        return ServerAccess(decision: decision, relay: nil)
    }

    func checkAuthorized() throws(AccessDenied) {}

    func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
        AccessObservation()
    }
}

/// In place of a server: answers everything.
struct Answering: RequestHandler {
    var body: String

    func canHandle(_ request: LoadRequest) -> Bool { request.url.scheme == "https" }

    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        try response.begin(HTTPResponse(status: .ok, headerFields: [.contentType: "application/json"]))
        try await response.write(Array(body.utf8))
    }
}

@Suite struct ReportTests {
    let loading: URLLoadingSystem

    init() throws { loading = URLLoadingSystem(gate: OneServer(server: try Endpoint("127.0.0.1:8080"))) }

    @Test func reportIsDecoded() async throws {
        var configuration = SessionConfiguration()
        configuration.handlers = [Answering(body: #"{"title":"Today","pages":3}"#)]
        let today = try await report(of: "today", in: loading.makeSession(configuration))
        #expect(today.pages == 3)
    }

    @Test func unlistedServerIsRefused() async throws {
        await #expect(throws: LoadError(.refusedByPolicy, "")) {
            try await loading.session.data(for: .get("http://a.example/"))
        }
    }
}
// end
