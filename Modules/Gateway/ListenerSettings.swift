internal import Logging
internal import SallyportBase
internal import SallyportCore

/// What listeners and the relay take from a gateway's configuration, whatever its role.
struct ListenerSettings {
    let configuration: Gateway.Configuration
    let logger: Logger

    /// The configured limits, and those computed from the process's limit of descriptors, which is raised as far as the
    /// system allows: a tunnel takes two.
    func connectionLimits() -> ConnectionLimits {
        let limit = DescriptorLimit.raise() ?? 1024
        // The files, sockets and loops opened from now on. Administration uses the descriptors that are kept from
        // connections.
        let ownUse =
            DescriptorLimit.used + 32 + (configuration.metrics == nil ? 0 : Observation.connections)
            + (configuration.relayGuard == nil ? 0 : GuardListener.maximumConnections)
        var limits = configuration.connections
        limits.perInstance = configuration.maximumTunnels + 64
        limits.descriptors = DescriptorShares(limit: limit, used: ownUse)
        logger.debug("Descriptors", metadata: ["limit": "\(limit)", "connections": "\(limits.descriptors.all)"])
        return limits
    }

    func relayConfiguration(trust: [[UInt8]]) throws(GatewayError) -> RelayConfiguration {
        guard let port = UInt16(exactly: configuration.relayPort) else {
            throw GatewayError(.invalid, "A port is 0 to 65535.")
        }
        var settings = RelayConfiguration(host: try Self.address(configuration.relayHost), port: port, trust: trust)
        settings.egress = configuration.egress
        settings.maximumTunnels = configuration.maximumTunnels
        return settings
    }

    func queries() throws(GatewayError) -> any QueryResolver {
        configuration.resolver == nil ? SystemQueries() : try dnsResolver()
    }

    func resolver() throws(GatewayError) -> any NameResolver {
        configuration.resolver == nil ? SystemResolver() : try dnsResolver()
    }

    private func dnsResolver() throws(GatewayError) -> DNSResolver {
        guard let server = configuration.resolver else { throw GatewayError(.internalFailure, "no resolver") }
        guard case .address(let address) = server.host else {
            throw GatewayError(.invalid, "The resolver is given by its address, such as 10.0.0.2:53, not by a name.")
        }
        return DNSResolver(server: address, port: server.port)
    }

    private static func address(_ host: String) throws(GatewayError) -> IPAddress {
        if host == "localhost" { return .v4(0x7f00_0001) }
        guard let address = IPAddress(host) else {
            throw GatewayError(.invalid, "The relay listens on an address of this machine, not on a name.")
        }
        return address
    }
}
