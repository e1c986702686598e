internal import Logging
internal import SallyportCore

/// What all connections of a relay share.
struct RelayServices: Sendable {
    let configuration: RelayConfiguration
    let policy: any RelayPolicy
    let resolver: any NameResolver
    let registry: TunnelRegistry
    let logger: Logger
    /// The relay's own port, once it is known.
    let port: UInt16

    /// The rule for addresses as it stands now.
    var addressCheck: AddressCheck { AddressCheck(ownPorts: configuration.ownPorts().union([port])) }
}

extension Duration {
    /// The same in nanoseconds, as NIO counts.
    var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
