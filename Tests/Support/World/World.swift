package import SallyportCore

/// What stands around an app in a test: the gate that it asks, a gateway with relays, and servers.
///
/// A test starts the parts that it needs, and each runs for as long as the test keeps it: ``relayed(by:blocking:floor:serve:)``
/// starts a relay, ``server(isSecure:_:_:)`` a server. Stores and sessions are in `SessionTestSupport`; what one module's
/// tests need besides is an extension of theirs, or a part over this one.
package struct World: Sendable {
    /// Every route is direct, until a test says otherwise.
    package let gate: StubGate
    /// The authority of servers, which an app trusts by the configurations of this world.
    package let origin: TestAuthority
    /// What a server of ``origin`` shows at `localhost` and 127.0.0.1.
    package let originTLS: TestTLS
    /// The authority of the gateway: of relays, and of the instances that they let in.
    package let gateway: TestAuthority
    /// What a relay of ``gateway`` shows and demands.
    package let relayTLS: TestTLS
    /// The app's certificate of ``gateway``.
    package let instance: TestIdentity

    /// - Parameter denied: why access is denied at first; nil for access at once.
    package init(denied: AccessDenied? = nil) throws {
        gate = StubGate(denied: denied)
        origin = try TestAuthority(name: "Origin")
        originTLS = try TestTLS(origin.server(names: ["localhost"], addresses: [.v4(0x7f00_0001)]))
        gateway = try TestAuthority(name: "Gateway")
        relayTLS = try TestTLS(gateway.server(names: ["localhost"]), requiring: gateway)
        instance = try gateway.client()
    }
}
