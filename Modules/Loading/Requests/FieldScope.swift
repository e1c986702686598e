public import SallyportCore

/// To which servers redirects may carry a header field that the app has set, besides the origin for which it was set.
///
/// No scope reaches from `https` to `http`, even if the load follows such a redirect.
public struct FieldScope: Sendable, Hashable {
    private enum Rule: Sendable, Hashable {
        case origin
        case site
        case servers(Set<Server>)
    }

    /// A host on every port, or on one port.
    private struct Server: Sendable, Hashable {
        let host: Host
        let port: UInt16?
    }

    private let rule: Rule

    /// The origin alone: scheme, host and port.
    public static let origin = FieldScope(rule: .origin)

    /// The hosts of the same registered domain, on every port: from `www.corp.example` to `login.corp.example`, but not
    /// from `a.github.io` to `b.github.io`. Also from `http` to `https`.
    ///
    /// The list of public suffixes, which `Sallyport` brings with the module Cookies, tells the registered domains. In
    /// a session without that list, each host is a site of its own.
    public static let site = FieldScope(rule: .site)

    /// These hosts, for redirects from any server.
    ///
    /// - Parameter names: Each is `HOST`, which means every port, or `HOST:PORT`; IPv6 in brackets. A field that a
    ///   redirect carried to one of them returns to the first server only if that server is named too.
    /// - Throws: `AddressError` for a text of neither form.
    public static func hosts(_ names: [String]) throws(AddressError) -> FieldScope {
        var servers: Set<Server> = []
        for name in names { servers.insert(try server(name)) }
        return FieldScope(rule: .servers(servers))
    }

    private static func server(_ text: String) throws(AddressError) -> Server {
        let split = Authority.split(text)
        return Server(host: try Authority.host(split.host), port: try split.port.map(Authority.port))
    }

    /// Whether a redirect carries the field from one origin to another.
    func reaches(_ target: RequestURL, from source: RequestURL, by sites: (any SiteRules)?) -> Bool {
        guard target.isSecure || !source.isSecure, let new = target.endpoint, let old = source.endpoint else {
            return false
        }
        return switch rule {
        case .origin: false
        case .site: new.host == old.host || sites?.isSameSite(new.host, old.host) == true
        case .servers(let servers):
            servers.contains(Server(host: new.host, port: nil))
                || servers.contains(Server(host: new.host, port: new.port))
        }
    }
}
