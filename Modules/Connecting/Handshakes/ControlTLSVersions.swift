internal import SallyportBase
public import SallyportCore

/// TLS versions that are offered to application servers besides 1.2 and 1.3: the setting `ControlTLSVersions`.
///
/// An item is `TLS1.1` (or `GDEnableTLS1.1`), which adds TLS 1.1, or `TLS1.0`, which adds 1.0 and 1.1; both are
/// insecure. `TLS1.2` (or `GDEnableTLS1.2`) adds nothing and is logged. `HOST=ITEM` adds versions for one host only. A
/// handshake offers TLS 1.2 and 1.3 first. If the server ends it with an alert, a close or a reset, one more handshake
/// offers only the added versions and tells the server that it is a fallback (RFC 7507). A server that was once
/// authenticated with a higher version, by any session of the instance, is never offered a lower one. An attacker on
/// the network can force the fallback at the first contact; name the hosts that need it. After 10,000 servers that were
/// authenticated with higher versions, lower ones are offered only where they have reached a server before; the hosts
/// that items name are counted apart from all others.
///
/// Applies to application servers only, never to the gateway. On relayed connections, the versions that the
/// administrator blocks and the administrator's minimum take precedence.
public struct ControlTLSVersions: Sendable, Hashable {
    /// The names of the setting; the first that has a value counts. In the environment they are `CONTROL_TLSVERSIONS`
    /// and `GDCONTROL_TLSVERSIONS`.
    public static let names = ["ControlTLSVersions", "GDControlTLSVersions"]
    /// The greatest number of items.
    public static let limit = 1000

    private var everywhere = TLSVersions([])
    private var byHost: [Host: TLSVersions] = [:]
    /// The items that have no effect.
    public private(set) var ineffective: [String] = []

    /// Adds nothing.
    public init() {}

    /// - Throws: `invalidConfiguration` for an invalid item.
    public init(_ items: [String]) throws(LoadError) {
        guard items.count <= Self.limit else { throw Self.invalid("has more than \(Self.limit) items") }
        for item in items { try take(item) }
    }

    /// The versions that may be offered to a host: TLS 1.2 and 1.3, the versions added for the host, and those above a
    /// minimum that the session sets; all within the session's bounds.
    func allowed(for host: Host, from minimum: TLSVersion?, to maximum: TLSVersion?) -> TLSVersions {
        let base = minimum == nil ? TLSVersions.standard.union(versions(for: host)) : .all
        return base.within(minimum, maximum)
    }

    package func versions(for host: Host) -> TLSVersions {
        guard !byHost.isEmpty, let own = byHost[host] else { return everywhere }
        return everywhere.union(own)
    }

    /// Whether an item names the host.
    func hasItem(for host: Host) -> Bool { byHost[host] != nil }

    private mutating func take(_ item: String) throws(LoadError) {
        let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let added = try Self.added(by: Self.trimmed(parts[parts.count - 1]))
        if added.isEmpty { ineffective.append(item) }
        guard parts.count == 2 else { return everywhere = everywhere.union(added) }
        do throws(AddressError) {
            let host = try Host(Self.trimmed(parts[0]))
            byHost[host] = added.union(byHost[host] ?? TLSVersions([]))
        } catch {
            throw Self.invalid("names a host that is not valid")
        }
    }

    private static func added(by name: String) throws(LoadError) -> TLSVersions {
        switch name {
        case "TLS1.2", "GDEnableTLS1.2": TLSVersions([])
        case "TLS1.1", "GDEnableTLS1.1": TLSVersions([.tls11])
        case "TLS1.0": TLSVersions([.tls10, .tls11])
        default: throw invalid("knows TLS1.0, TLS1.1, GDEnableTLS1.1 and GDEnableTLS1.2 only")
        }
    }

    private static func trimmed(_ part: Substring) -> String { String(part.trimming { $0 == UInt8(ascii: " ") }) }

    private static func invalid(_ what: String) -> LoadError {
        LoadError(.invalidConfiguration, "\(names[0]) \(what).")
    }
}
