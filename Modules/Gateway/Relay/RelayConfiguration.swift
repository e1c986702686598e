package import SallyportBase
package import SallyportCore

/// A relay's address, trusted authorities and limits.
package struct RelayConfiguration: Sendable {
    /// The interface to listen on: an IP address.
    package var host: IPAddress
    /// 0 takes a free port.
    package var port: UInt16
    /// The source address of connections to servers; servers of the other address family are then unreachable.
    package var egress: IPAddress?
    /// The authorities of the instances' certificates, in DER.
    package var trust: [[UInt8]]
    /// The most open and opening tunnels of one instance.
    package var maximumTunnels = 1024
    /// The time limit from CONNECT to a connection with the server, including name resolution.
    package var dialTimeout: Duration = .seconds(10)
    /// How long a tunnel may be idle in both directions.
    package var idleTimeout: Duration = .seconds(600)
    /// The longest head of a CONNECT, in bytes.
    package var headerLimit = 8 * 1024
    /// How long ``Relay/shutdown()`` waits for open tunnels.
    package var drainTime: Duration = .seconds(2)

    package init(host: IPAddress, port: UInt16, trust: [[UInt8]]) {
        self.host = host
        self.port = port
        self.trust = trust
    }
}

/// The relay's server certificate and its key.
package struct RelayIdentity: Sendable {
    /// In DER, the relay's own first.
    package var certificates: [[UInt8]]
    /// PKCS#8, in PEM.
    package var privateKey: Redacted<String>

    package init(certificates: [[UInt8]], privateKey: Redacted<String>) {
        self.certificates = certificates
        self.privateKey = privateKey
    }
}
