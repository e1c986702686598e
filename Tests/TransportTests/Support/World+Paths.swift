import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport

extension World {
    /// The way through relays to servers of ``World/origin``.
    func path(_ relays: TestServer..., identity: TestIdentity? = nil) throws -> ConnectionPath {
        try path(ports: relays.map(\.port), identity: identity)
    }

    func path(ports: [UInt16], identity: TestIdentity? = nil) throws -> ConnectionPath {
        try ConnectionPath(relay: access(to: ports, as: identity), trust: .only([origin.der]))
    }
}
