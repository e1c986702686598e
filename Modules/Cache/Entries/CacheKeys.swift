internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore

/// The request target, the principal and the trust scope of a request: the key under which entries and flights are
/// found.
struct RequestKey: Sendable, Hashable {
    let url: UInt64
    let principal: UInt64
    /// A code for the ``TrustScope``.
    let scope: UInt64
}

/// Makes the hashes by which entries are found; keyed with a secret of the store.
struct CacheKeys: Sendable {
    private let key: KeyHash
    private let instance: UInt64

    init(secret: Redacted<[UInt8]>) {
        key = KeyHash(key: secret.reveal())
        instance = key.code(of: "principal \(Principal.instance.name)")
    }

    func key(of url: RequestURL, _ principal: Principal, _ scope: TrustScope) -> RequestKey {
        RequestKey(url: hash(of: url), principal: hash(of: principal), scope: hash(of: scope))
    }

    func hash(of scope: TrustScope) -> UInt64 {
        var hash = key
        hash.combine(scope.digest)
        hash.combine(byte: scope.asksApp ? 1 : 0)
        return hash.finalize()
    }

    /// A code of 16 bytes for the lines of a `Cookie` field, which does not reveal them. Twice 64 bits, since an entry is
    /// given to each request with an equal code.
    func code(ofCookies lines: [String]) -> [UInt8] {
        let text = lines.joined(separator: "; ")
        return ["cookies ", "and again cookies "].flatMap { key.code(of: $0 + text).bigEndianBytes }
    }

    func hash(of principal: Principal) -> UInt64 {
        principal == .instance ? instance : key.code(of: "principal \(principal.name)")
    }

    /// The hash of the URL without its fragment.
    func hash(of url: RequestURL) -> UInt64 {
        var hash = key
        hash.combine(url.scheme)
        hash.combine(byte: 0)
        if let endpoint = url.endpoint {
            if case .name(let name) = endpoint.host { hash.combine(name) } else { hash.combine("\(endpoint.host)") }
            hash.combine(byte: UInt8(endpoint.port >> 8))
            hash.combine(byte: UInt8(endpoint.port & 0xff))
        }
        hash.combine(url.path)
        if let query = url.query {
            hash.combine(byte: UInt8(ascii: "?"))
            hash.combine(query)
        }
        return hash.finalize()
    }

    func hash(of host: Host) -> UInt64 { key.code(of: "host \(host)") }
    func hash(ofOrigin origin: String) -> UInt64 { key.code(of: "origin \(origin)") }

    func variation(of names: [String], in fields: HTTPFields) -> UInt64 {
        Variation.code(of: names, in: fields, key: key)
    }
}
