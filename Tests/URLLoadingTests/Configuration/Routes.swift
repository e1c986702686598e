import SallyportCore
import SessionTestSupport
import TestSupport

@testable import SallyportURLLoading

/// A server that is reached directly, and the same through a relay that ends TLS of its own in between.
struct Routes {
    let site: Site
    let relay: TestServer?
    private let world: World
    private let loading: URLLoadingSystem

    /// - Parameter stages: of other modules.
    init(_ way: Way, stages: (StubGate) -> SessionStages = { _ in { _ in [] } }) throws {
        world = try World()
        site = try Site(world.origin)
        loading = world.loading(stages: stages(world.gate))
        let table = try RoutingTable(servers: [.init(site.server.endpoint, route: .relay)])
        relay = way == .relayed ? try world.relayed(by: table) : nil
    }

    /// How many connections the relay was asked for; 0 without one.
    var relayedConnections: Int { relay?.acceptedConnections ?? 0 }

    func session(_ change: (inout SessionConfiguration) throws -> Void = { _ in }) throws -> SecureSession {
        loading.makeSession(try world.configuration(change))
    }
}
