import HTTPTypes
import SallyportCore
import TestSupport
import Testing

@testable import SallyportURLLoading

/// A server that is reached directly, and the same through a relay that ends TLS of its own in between.
struct Routes {
    enum Way: String, Sendable, CaseIterable, CustomTestStringConvertible {
        case direct, relayed
        var testDescription: String { rawValue }
    }

    let site: Site
    let relay: TestServer
    private let gate = StubGate()
    private let loading: URLLoadingSystem

    /// - Parameter stages: of other modules.
    init(_ way: Way, stages: (StubGate) -> SessionStages = { _ in { _ in [] } }) throws {
        site = try Site(TestAuthority(name: "Site"))
        let authority = try TestAuthority(name: "Gateway")
        let tls = try TestTLS(authority.server(names: ["localhost"]), requiring: authority)
        relay = try TestServer { TestRelay.serve($0, tls) }
        loading = URLLoadingSystem(gate: gate, stages: stages(gate))
        guard way == .relayed else { return }
        let access = try RelayAccess(
            cluster: "main", relays: [.init(Endpoint("localhost:\(relay.port)"), priority: 1)],
            authorities: [authority.der], identity: authority.client().clientIdentity)
        gate.route(by: try RoutingTable(servers: [.init(site.server.endpoint, route: .relay)]), relay: access)
    }

    func session(_ change: (inout SessionConfiguration) throws -> Void = { _ in }) throws -> SecureSession {
        var configuration = SessionConfiguration()
        configuration.trust = try .only([site.authority.der])
        try change(&configuration)
        return loading.makeSession(configuration)
    }
}
