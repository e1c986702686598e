public import HTTPTypes
public import SallyportCore
public import SallyportLoading

/// How a session loads. A session keeps the configuration that it was made with.
public struct SessionConfiguration: Sendable {
    /// Fields added to each request that has no field of the same name. ``fieldScopes`` says to which servers redirects
    /// carry them.
    public var additionalHeaders: HTTPFields = [:]
    /// The longest time without a byte in either direction.
    public var idleTimeout: Duration = .seconds(60)
    /// The longest time for a whole load, its body included.
    public var resourceTimeout: Duration = .seconds(7 * 24 * 60 * 60)
    /// The longest time from the start to a connection over which the request can be sent.
    public var connectTimeout: Duration = .seconds(10)
    /// Whether a load that finds no connection (`cannotFindHost`, `cannotConnect`, `relayUnreachable`,
    /// `proxyUnreachable`) waits for one instead of failing, unless its request says otherwise. Nothing of it was sent by
    /// then. It is tried again when the infrastructure returns, else after pauses that grow to 30 s, until its resource
    /// time-out.
    public var waitsForConnectivity = false
    /// How many connections the session has with one origin at once, for each principal, and on machines with four
    /// cores or more for each of the SDK's event loops. Further loads wait for one of them, in their order, until
    /// their resource time-out; values below 1 count as 1. HTTP/2 carries at least 100 loads on one connection besides,
    /// of those that collect their bodies; each that streams counts as one of HTTP/1.1 does.
    public var connectionsPerOrigin = 6
    /// Whether redirects are followed.
    public var followsRedirects = true
    /// How many redirects one load follows; one more ends it with `tooManyRedirects`.
    public var redirectLimit = 20
    /// Whether redirects may lead from `https` to `http`, which anyone on the network path can read. If false, such a
    /// redirect ends the load with `insecureRedirect`.
    public var allowsInsecureRedirects = false
    /// To which servers redirects carry the fields that the app has set, in requests and in ``additionalHeaders``
    /// alike: by default only to their own origin, except for standard fields.
    public var fieldScopes = FieldScopes()
    /// The lowest version of TLS that is offered to servers; nil for 1.2 and what `ControlTLSVersions` adds. Versions
    /// below 1.2 are unsafe, and offered only after those above failed.
    public var minimumTLSVersion: TLSVersion?
    /// The highest version of TLS that is offered to servers; nil for the highest there is.
    public var maximumTLSVersion: TLSVersion?
    /// The authorities that may issue servers' certificates.
    public var trust: ServerTrust = .system
    /// The keys that hosts are pinned to; see ``pin(_:to:backups:)``.
    public private(set) var pins: [Host: Set<PublicKeyPin>] = [:]
    /// The checks for revoked server certificates.
    public var revocation = RevocationChecks()
    /// The client certificates for hosts that request one; see ``present(_:to:)``.
    public private(set) var clientIdentities: [Host: ClientIdentity] = [:]
    /// The proxies of direct routes. A load whose route is a relay ends with `proxyWithRelay` before any connection is
    /// made, unless its host is one of the exceptions. `http_proxy` and similar variables have no effect.
    public var proxies: ProxySettings = .none
    /// Called with the record of each load when it has ended, on any thread; must not block. It gets the same records
    /// as a ``SessionDelegate``, without the need for a delegate.
    public var onRecord: (@Sendable (LoadRecord) -> Void)?
    /// This session's own handler objects, asked in order before ``protocolClasses``.
    public var handlers: [any RequestHandler] = []
    /// This session's own handler types, asked in order before all registered ones.
    public var protocolClasses: [any ProtocolHandler.Type] = []
    /// The jar for the session's cookies.
    public var cookieJar: CookieJarSelection = .instance
    /// Which cookies of servers are accepted.
    public var cookieAcceptPolicy: CookieAcceptPolicy = .onlyFromMainDocument
    /// Whether cookies are sent and stored for requests that do not say.
    public var handlesCookies = true
    /// Whether the session uses the instance's cache at all.
    public var usesCache = true
    /// How loads that do not say use the cache.
    public var cachePolicy: CachePolicy = .useProtocolCachePolicy
    /// Whether servers that do not know NTLMv2 are answered with NTLM2 session and NTLMv1, if the administrator's
    /// policy allows it too. An eavesdropper can break both, and an attacker on the network path can make a server look
    /// like an old one.
    public var allowsNTLMv1 = false
    /// Whether Basic may send a password over plain `http`, to servers and to proxies. Anyone on the network path can
    /// read it there, so Basic is otherwise skipped, unless a default credential was set for exactly that protection
    /// space.
    public var allowsBasicOverPlainHTTP = false
    /// Whether the strongest method that a server or a proxy offers is tried first, instead of the first that it names.
    /// Over TLS the order is Negotiate, NTLM, Digest, Basic; otherwise Negotiate, Digest, NTLM, Basic.
    public var prefersStrongest = false
    /// The principal of requests that do not name one. Principals never share a connection. A request with its own
    /// `Authorization` field gets a principal of its own, whatever else is set: requests with the same field share what
    /// a principal shares; requests with different fields share nothing.
    public var principal: Principal = .instance

    /// The default settings, as each property states them.
    public init() {}

    /// Accepts only connections to a host whose certificate chain contains one of these keys, in addition to the check
    /// by ``trust``. Replaces the host's earlier pins. A load that finds none of the keys ends with `serverNotTrusted`.
    ///
    /// - Parameters:
    ///   - host: exactly this host, on every port.
    ///   - key: the key that the server has now, or that of an authority above it.
    ///   - backups: keys that the server can change to; without one, a lost key would lock the app out.
    /// - Throws: `invalidRequest` for an invalid host, and if there is no backup.
    public mutating func pin(
        _ host: String, to key: PublicKeyPin, backups: Set<PublicKeyPin>
    ) throws(LoadError) {
        let keys = try key.with(backups: backups)
        do throws(AddressError) {
            pins[try Host(host)] = keys
        } catch {
            throw LoadError(.invalidRequest, "The host of a pin is not valid.", underlying: error)
        }
    }

    /// Presents the certificate to a host that requests one, without a challenge. No other host sees it.
    ///
    /// - Parameters:
    ///   - identity: the certificate chain and its private key.
    ///   - host: exactly this host, on every port.
    /// - Throws: `invalidRequest` for an invalid host.
    public mutating func present(_ identity: ClientIdentity, to host: String) throws(LoadError) {
        do throws(AddressError) {
            clientIdentities[try Host(host)] = identity
        } catch {
            throw LoadError(.invalidRequest, "The host of a client certificate is not valid.", underlying: error)
        }
    }
}
