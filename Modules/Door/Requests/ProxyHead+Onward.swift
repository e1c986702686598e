internal import SallyportCore

/// A request in absolute form as the server gets it.
extension ProxyHead {
    /// The fields that are for the next hop only (RFC 9110 §7.6.1), in lower case.
    private static let hopFields: Set<String> = [
        "connection", "proxy-connection", "keep-alive", "proxy-authorization", "proxy-authenticate", "upgrade", "te",
        "host", "http2-settings",
    ]

    /// In origin form, one request for each connection. Fields of the app's own are never among its.
    ///
    /// - Throws: the refusal of a request that goes no further.
    func onwardHead(to endpoint: Endpoint) throws(DoorRefusal.Thrown) -> [UInt8] {
        let host = endpoint.port == 80 ? "\(endpoint.host)" : "\(endpoint)"
        var lines = ["\(method) \(onwardTarget) HTTP/1.\(minorVersion)", "Host: \(host)"]
        lines += try onwardFields().map { "\($0.name): \($0.value)" }
        lines += ["Via: 1.\(minorVersion) sallyport", "Connection: close"]
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    /// Path and query to the letter, since a proxy must not change them (RFC 9110 §7.7): the server may check a
    /// signature of them, and tell `a/../b` from `b`.
    private var onwardTarget: String {
        let url = target.utf8.dropFirst("http://".utf8.count).prefix { $0 != UInt8(ascii: "#") }
        let rest = url.drop { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        switch rest.first {
        case UInt8(ascii: "/"): return String(Substring(rest))
        // With neither path nor query, OPTIONS asks about the server as a whole (RFC 9112 §3.2.4).
        case nil where method == "OPTIONS": return "*"
        default: return "/" + String(Substring(rest))
        }
    }

    private func onwardFields() throws(DoorRefusal.Thrown) -> [Field] {
        let named = values(of: "connection").flatMap { $0.split(separator: ",") }
            .map { $0.lowercased().filter { $0 != " " && $0 != "\t" } }
        // Never named away: what frames the body.
        let dropped = Self.hopFields.union(named).subtracting(["transfer-encoding", "content-length"])
        let kept = fields.filter { !dropped.contains($0.key) }
        guard let forwards = try onwardForwards() else { return kept }
        return kept.map { $0.key == "max-forwards" ? Field(name: $0.name, value: "\(forwards)") : $0 }
    }

    /// How many proxies behind this one may pass the request on (RFC 9110 §7.6.2); nil if it has no such limit.
    private func onwardForwards() throws(DoorRefusal.Thrown) -> Int64? {
        guard method == "OPTIONS" || method == "TRACE" else { return nil }
        let limits = values(of: "max-forwards")
        guard let first = limits.first else { return nil }
        guard limits.count == 1, let limit = Self.number(first) else {
            throw .init(DoorRefusal("malformed", "Max-Forwards is not one number."))
        }
        guard limit > 0 else { throw .init(.lastRecipient) }
        return limit - 1
    }
}

extension DoorRefusal {
    static let lastRecipient = DoorRefusal(
        "maxForwards", "Max-Forwards lets the request go no further than this door, which answers none itself.",
        .notImplemented)
}
