internal import Logging
internal import SallyportCore

/// What all connections of a relay have in common.
struct RelayServices: Sendable {
    let configuration: RelayConfiguration
    let policy: any RelayPolicy
    let resolver: any NameResolver
    let registry: TunnelRegistry
    let logger: Logger
    /// The ports of all listeners of the gateway.
    let ownPorts: Set<UInt16>
    var metrics = GatewayMetrics()
    var audit = AuditRecorder.keepsNothing

    /// The rule for addresses.
    var addressCheck: AddressCheck { AddressCheck(ownPorts: ownPorts) }
}

extension Duration {
    /// The same in nanoseconds, as NIO counts.
    var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
