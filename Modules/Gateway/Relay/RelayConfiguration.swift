package import SallyportBase
package import SallyportCore

/// What a relay listens on, whom it trusts, and its limits.
package struct RelayConfiguration: Sendable {
    /// The interface to listen on: an IP address.
    package var host: IPAddress
    /// 0 takes a free port.
    package var port: UInt16
    /// The address that tunnels to servers come from; servers of the other family are then out of reach.
    package var egress: IPAddress?
    /// The authorities of the instances' certificates, in DER.
    package var trust: [[UInt8]]
    /// Open and opening tunnels of one instance.
    package var maximumTunnels = 1024
    /// From CONNECT to a connection with the server, the name's resolution included.
    package var dialTimeout: Duration = .seconds(10)
    /// How long a tunnel may carry nothing in either direction.
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
