import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportWire

extension FuzzTarget {
    static let wire = [
        jws, configuration, link, names, events, dns, certificates, proxyStatus, credentials, base64, json,
        jose, keys, tokens,
    ]

    private static let jws = FuzzTarget("jws", words: [".", "eyJ", "ES256", "..", "-_"]) {
        bytes throws(BrokenProperty) in
        _ = try? JWS(bytes, type: "sallyport-config")
    }

    private static let configuration = FuzzTarget(
        "configuration", words: ["\"", "{", "}", "[", "]", ",", ":", "null", "1e99", "-1", "true", "\"epoch\":"]
    ) { bytes throws(BrokenProperty) in
        guard let document = try? ConfigurationDocument(parsing: bytes) else { return }
        let printed = (try? document.serialized()) ?? []
        let again = try? ConfigurationDocument(parsing: printed)
        try demand(again == document, "A configuration is read as another.")
        _ = document.routingTable
    }

    private static let link = FuzzTarget(
        "activation-link", text: ["sallyport://", "?ca=", "&user=", "&key=", "%25", "%", "@", "/", "#", "="]
    ) { text throws(BrokenProperty) in
        guard let link = try? ActivationLink(text) else { return }
        try demandRoundTrip(link, \.text) { try ActivationLink($0) }
        try demand(
            !"\(link)".contains(link.accessKey.reveal()) || link.accessKey.reveal().count < 8, "A link shows its key.")
    }

    private static let names = FuzzTarget(
        "names",
        text: ["sallyport://", "com.example", ".", "/", "-", "0e0a8b5c-8d2e-4f66-9a7f-3b1f0a6f2d11", "1.0.0.0"]
    ) { text throws(BrokenProperty) in
        if let name = InstanceName(text) { try demandRoundTrip(name, \.description) { InstanceName($0) } }
        if let name = InstanceIdentifier(text) { try demandRoundTrip(name, \.description) { InstanceIdentifier($0) } }
        if let name = EntitlementIdentifier(text) {
            try demandRoundTrip(name, \.description) { EntitlementIdentifier($0) }
        }
        if let version = EntitlementVersion(text) {
            try demandRoundTrip(version, \.description) { EntitlementVersion($0) }
        }
        if let name = DNSName(text) { try demandRoundTrip(name, \.description) { DNSName($0) } }
    }

    /// In one piece and byte by byte the same events come.
    private static let events = FuzzTarget(
        "events", words: ["data:", "event: ", "id: ", "retry: ", "\n\n", "\r\n", "\r", "\u{feff}", ": ", "\0"]
    ) { bytes throws(BrokenProperty) in
        var (whole, parts) = (ServerSentEventParser(), ServerSentEventParser())
        let events = try? whole.receive(bytes)
        var single: [ServerSentEvent]? = []
        for byte in bytes {
            guard let more = try? parts.receive([byte]) else {
                single = nil
                break
            }
            single?.append(contentsOf: more)
        }
        try demand(events == single, "Events depend on the pieces in which they come.")
        for event in events ?? [] {
            var parser = ServerSentEventParser()
            let again = try? parser.receive(event.serialized.utf8)
            try demand(again?.count == 1, "An event is printed as \(again?.count ?? 0).")
        }
    }

    private static let dns = FuzzTarget("dns", words: ["\u{c}\u{1}", "\0\u{1}", "\0\u{1c}", "\0!", "\u{3}www", "\0"]) {
        bytes throws(BrokenProperty) in
        guard let message = try? DNSMessage(parsing: bytes), let printed = try? message.serialized() else { return }
        let again = try? DNSMessage(parsing: printed)
        try demand(again == message, "A message is read as another.")
    }

    private static let certificates = FuzzTarget(
        "certificates", words: ["0\u{80}", "\u{30}\u{82}", "\0\0", "MII", "\r\n"]
    ) {
        bytes throws(BrokenProperty) in
        _ = try? ESTBody.decode(bytes)
        guard let bag = try? CertificateBag(parsing: bytes), let printed = try? bag.serialized() else { return }
        let again = try? CertificateBag(parsing: printed)
        try demand(again?.certificates == bag.certificates, "Certificates are read as others.")
    }

    private static let proxyStatus = FuzzTarget(
        "proxy-status",
        text: ["gw", "; error=", "dns_error", ", ", "\"", "\\", "; received-status=", "?1", "@1", ":a:"]
    ) { text throws(BrokenProperty) in
        guard let status = try? ProxyStatus(parsing: text), !status.members.isEmpty else { return }
        guard let printed = try? status.serialized() else { return }
        let again = try? ProxyStatus(parsing: printed)
        try demand(again?.members.map(\.error) == status.members.map(\.error), "Proxy-Status is read as another.")
    }

    private static let credentials = FuzzTarget("credentials", text: ["Basic ", "YTpi", "=", "==", " "]) {
        text throws(BrokenProperty) in
        guard let credentials = try? BasicCredentials(fieldValue: text) else { return }
        let again = try? BasicCredentials(fieldValue: credentials.fieldValue.reveal())
        try demand(again == credentials, "Credentials are read as others.")
    }

    private static let base64 = FuzzTarget("base64", words: ["=", "==", "-", "_", "+", "/", "\n", "A"]) {
        bytes throws(BrokenProperty) in
        _ = try? Base64.decode(bytes)
        let there = Array(Base64URL.encode(bytes).utf8)
        try demand((try? Base64URL.decode(there)) == bytes, "Bytes come back as others.")
        guard let decoded = try? Base64URL.decode(bytes) else { return }
        try demand(Array(Base64URL.encode(decoded).utf8) == bytes, "One value has two spellings.")
    }

    private static let json = FuzzTarget(
        "json", words: ["{\"a\":", "[", "]", "}", "\"", "\\u", "\\ud800", "1e400", "-0", "null"]
    ) {
        bytes throws(BrokenProperty) in
        guard let value = try? WireJSON.decode(JSONValue.self, from: bytes, limit: 4096),
            let printed = try? WireJSON.encode(value)
        else { return }
        let again = try? WireJSON.decode(JSONValue.self, from: printed, limit: 65_536)
        try demand(again == value, "A value is read as another.")
    }

    /// What our own reader takes, the decoder takes too, and as the same.
    private static let jose = FuzzTarget(
        "jose",
        words: ["{", "}", "[", "]", "\"", ":", ",", "\\u", "\\ud83d", "-", "0", "1e5", ".5", "true", "null", " "]
    ) { bytes throws(BrokenProperty) in
        guard let object = try? JOSEObject(parsing: bytes) else { return }
        let read = try? WireJSON.decode([String: JSONValue].self, from: bytes, limit: 4096)
        guard let read else { throw BrokenProperty(description: "An object is read that is none.") }
        // Names that are canonically equal are one key of a dictionary.
        try demand(read.count <= object.names.count, "An object has more members than it has.")
        for (name, value) in read {
            switch (object[name], value) {
            case (.string(let one)?, .string(let other)): try demand(one == other, "A text is read as another.")
            case (.integer(let one)?, .integer(let other)): try demand(one == other, "A number is read as another.")
            case (.string?, _), (.integer?, _): throw BrokenProperty(description: "A value is read as another kind.")
            default: break
            }
        }
    }

    private static let keys = FuzzTarget(
        "jwk-set",
        words: ["{\"keys\":[", "\"kty\":\"EC\"", "\"crv\":\"P-256\"", "\"x\":\"", "\"kid\":\"a\"", "]}", "\"d\":1"]
    ) { bytes throws(BrokenProperty) in
        guard let keys = try? JWKSet(parsing: bytes), let printed = try? keys.serialized() else { return }
        let again = try? JWKSet(parsing: printed)
        try demand(again == keys, "Keys are read as others.")
    }

    private static let tokens = FuzzTarget(
        "auth-token",
        words: [".", "eyJ", "\"aud\":\"", "\"cnf\":{\"jkt\":\"", "\"iat\":", "\"exp\":", "\"sub\":\"", "\"nonce\":\""]
    ) { bytes throws(BrokenProperty) in
        _ = try? SignedAuthToken(bytes)
        _ = try? DPoPProof(bytes)
        guard let claims = try? AuthTokenClaims(parsing: bytes), let printed = try? claims.serialized() else { return }
        let again = try? AuthTokenClaims(parsing: printed)
        try demand(again == claims, "Claims are read as others.")
    }
}
