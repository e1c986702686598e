internal import Crypto
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading
internal import SallyportTransport

extension TrustScopes {
    /// The scopes of a session's settings. Made once for each session, since certificates and lists are hashed.
    init(_ configuration: SessionConfiguration) {
        let hosts = Set(configuration.pins.keys).union(configuration.clientIdentities.keys)
        let common = TrustDigest(ofAll: configuration)
        self.init(
            standard: common.finished(),
            own: Dictionary(uniqueKeysWithValues: hosts.map { ($0, common.finished(for: $0, in: configuration)) }),
            plain: Self.plain(with: configuration.cookieJar), handlesCookies: configuration.handlesCookies)
    }

    private static func plain(with jar: CookieJarSelection) -> TrustScope {
        jar == .instance ? .plain : TrustScope(digest: TrustDigest(of: jar).finished())
    }
}

/// A digest of settings. The length precedes each item, so that no two settings have the same input.
private struct TrustDigest {
    private var hash = SHA256()

    /// The digest of the settings for every host.
    init(ofAll configuration: SessionConfiguration) {
        switch configuration.trust.anchors {
        case .system: add("system")
        case .only(let certificates): add("only", certificates)
        case .gateway(let certificates): add("gateway", certificates)
        case .systemAnd(let certificates): add("system and", certificates)
        case .unverified: add("unverified")
        }
        let rules = configuration.revocation.rules
        add("lists", rules.lists)
        add("\(rules.coversAuthorities) \(rules.allowsUnknown) \(rules.stapling)")
        add(configuration.minimumTLSVersion.map { "at least \($0)" } ?? "usual versions")
        add(configuration.cookieJar)
    }

    /// The digest of what counts where nothing is verified.
    init(of jar: CookieJarSelection) { add(jar) }

    func finished() -> [UInt8] { Array(hash.finalize()) }

    /// The digest with the settings for one host added. The private key is left out: the certificate identifies the
    /// client.
    func finished(for host: Host, in configuration: SessionConfiguration) -> [UInt8] {
        var own = self
        own.add("pins", (configuration.pins[host] ?? []).map(\.sha256).sorted { $0.lexicographicallyPrecedes($1) })
        own.add("identity", configuration.clientIdentities[host]?.certificates ?? [])
        return own.finished()
    }

    /// The instance's jar, which most sessions have, adds nothing.
    private mutating func add(_ jar: CookieJarSelection) {
        switch jar {
        case .instance: break
        case .named(let name): add("jar", [Array(name.utf8)])
        case .none: add("no jar")
        }
    }

    private mutating func add(_ name: String, _ items: [[UInt8]] = []) {
        add(Array(name.utf8))
        add(UInt64(items.count).bigEndianBytes)
        for item in items { add(item) }
    }

    private mutating func add(_ item: [UInt8]) {
        hash.update(data: UInt64(item.count).bigEndianBytes)
        hash.update(data: item)
    }
}
