import HTTPTypes
import Logging
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport

@testable import SallyportConnecting
@testable import SallyportURLLoading

/// The URL loading of one instance over stubs.
struct Fixture {
    let gate: StubGate
    let client: StubClient
    let systemClient: StubClient
    let loading: URLLoadingSystem

    init(
        denied: AccessDenied? = nil, answers: [StubAnswer] = [.text("secure")], system: [StubAnswer] = [.text("system")]
    ) {
        self.init(denied: denied, client: StubClient(answers), system: StubClient(system))
    }

    init(denied: AccessDenied? = nil, client: StubClient, system: StubClient = StubClient([.text("system")])) {
        gate = StubGate(denied: denied)
        self.client = client
        systemClient = system
        loading = URLLoadingSystem(gate: gate, client: client, system: LoadingEngine(client: system))
    }
}

extension SecureSession {
    func text(_ url: String) async throws -> String {
        String(decoding: try await data(for: .get(url)).body, as: UTF8.self)
    }
}

/// A pipeline of given stages over a stub, without a session.
struct Pipeline {
    let client: StubClient
    private let chain: LoadChain

    init(_ stages: [any LoadStage], _ answers: [StubAnswer]) { self.init(stages, StubClient(answers)) }

    init(_ stages: [any LoadStage], _ client: StubClient) {
        self.client = client
        var settings = ConnectionSettings(scope: .session("0"))
        settings.connectTimeout = .seconds(1)
        let connector = Connector(gate: nil, client: client)
        chain = LoadChain(stages + [ConnectorStage(connector: connector, settings: settings)])
    }

    func load(_ request: LoadRequest) async throws(LoadError) -> LoadResponse {
        try await chain.load(request, in: .test)
    }
}

extension LoadContext {
    static let test = LoadContext(
        requestID: 1, logger: Logger(label: "test"), deadline: .now + .seconds(60), idleTimeout: .seconds(60),
        principal: .instance)
}

extension HTTPField.Name {
    static func custom(_ text: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is a field name.") }
        return name
    }
}

extension RelayAccess {
    static func stub(_ cluster: String = "main") throws -> RelayAccess {
        RelayAccess(
            cluster: cluster, relays: [.init(try Endpoint("relay.example:17533"), priority: 1)], authorities: [[1]],
            identity: ClientIdentity(certificates: [[2]], privateKey: Redacted("key")))
    }
}
