package import SallyportCore

/// Identifies clients by their certificates, and decides what they may reach.
package protocol RelayPolicy: Sendable {
    /// The client that a certificate names; nil if it names no instance. Called on an event loop, after the handshake.
    ///
    /// - Parameter certificateDER: The presented certificate, chained to the relay's authority for clientAuth. Its
    ///   serial and the instance's state are for ``RelayClient/decide(_:)`` to look up.
    func client(presenting certificateDER: [UInt8]) -> (any RelayClient)?
}

/// A client with a certificate.
package protocol RelayClient: Sendable {
    /// The instance that the certificate names, whatever became of it: for the audit trail. Nil if that cannot be told.
    var instance: String? { get }

    /// The instance, if it is in good standing: not withdrawn, and not known by another certificate only. Its
    /// connections are not closed to make room for unauthenticated ones. Called on an event loop, after the handshake.
    var instanceInGoodStanding: String? { get }

    /// Whether a tunnel to a target may be opened, and where it leads, by the present policy and certificate.
    ///
    /// Called on an event loop at every CONNECT: must answer from memory, without waiting.
    ///
    /// - Parameter target: CONNECT's target in canonical form.
    func decide(_ target: Endpoint) -> RelayVerdict

    /// Learns what is new, if a certificate is not known. May be called at any time.
    ///
    /// - Returns: whether everything is known that was in the store at the call. If not, an unknown certificate may be
    ///   good.
    func catchUp() async -> Bool

    /// Whether a tunnel that ``decide(_:)`` allowed may stay under the present policy. That its certificate was
    /// replaced or has expired since then is no reason to end it.
    ///
    /// Called on an event loop again when the server was reached, and for every open tunnel after
    /// ``Relay/policyChanged()``.
    func reconsider(_ target: Endpoint) -> RelayVerdict
}

extension RelayClient {
    package func catchUp() async -> Bool { true }
}

/// A policy's decision on one client and one target.
package enum RelayVerdict: Sendable, Hashable {
    /// The tunnel may be opened.
    ///
    /// - Parameters:
    ///   - instance: For the limit of tunnels and for the log.
    ///   - address: The address to which the name leads, if the administrator has set one; then the name is not
    ///     resolved.
    ///   - mayBeLocal: Whether the entry is an address literal or `localhost`, or has an address: only these may lead
    ///     to loopback, link-local and similar addresses, and to the gateway's own listeners.
    ///   - rules: The rules for each address to which the target's name leads.
    case allowed(instance: String, address: IPAddress?, mayBeLocal: Bool, rules: AddressRules = .standard)
    /// The certificate is not known: it is refused, unless there is news of it, or news cannot be had. See
    /// ``RelayClient/catchUp()``.
    case unknown
    /// The tunnel is refused, or ended if it is open.
    ///
    /// - Parameters:
    ///   - error: An error type of RFC 9209 §2.3.
    ///   - details: For the client's operator: what was refused and why, without secrets.
    ///   - status: 400 to 599.
    case refused(error: String, details: String, status: Int)
}
