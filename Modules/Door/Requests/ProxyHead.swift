internal import SallyportBase
internal import SallyportCore
internal import SallyportWire

/// The head of a request to a proxy (RFC 9112 §3), read by the letter: what two readers could understand differently is
/// refused.
struct ProxyHead: Sendable {
    /// The longest head, in bytes.
    static let limit = 64 << 10
    /// The most fields.
    static let fieldLimit = 200

    struct Field: Sendable, Equatable {
        var name: String
        var value: String
        /// In lower case, to be compared.
        var key: String { name.lowercased() }
    }

    let method: String
    let target: String
    /// 0 or 1.
    let minorVersion: Int
    let fields: [Field]

    /// - Parameter bytes: up to and with the blank line.
    init(_ bytes: ArraySlice<UInt8>) throws(DoorRefusal.Thrown) {
        guard bytes.allSatisfy(Self.isTextByte), let text = String(validating: bytes.dropLast(4), as: UTF8.self) else {
            throw Self.malformed("a character that no head may have")
        }
        // By bytes: CR LF is one character.
        var lines = text.utf8.split(separator: 10, omittingEmptySubsequences: false).map { Substring($0) }
        for index in lines.indices.dropLast() {
            guard lines[index].utf8.last == 13 else { throw Self.malformed("a line that does not end with CR LF") }
            lines[index] = Substring(lines[index].utf8.dropLast())
        }
        guard !lines.contains(where: { $0.utf8.contains(13) }) else { throw Self.malformed("a CR without LF") }
        let words = lines[0].utf8.split(separator: 32, omittingEmptySubsequences: false).map { String(Substring($0)) }
        guard words.count == 3, HTTPToken.isToken(words[0].utf8), !words[1].isEmpty else {
            throw Self.malformed("no request line")
        }
        guard words[2] == "HTTP/1.1" || words[2] == "HTTP/1.0" else {
            throw .init(DoorRefusal("httpVersion", "This door speaks HTTP/1.1 and HTTP/1.0.", .notImplemented))
        }
        guard lines.count <= Self.fieldLimit + 1 else { throw .init(.headTooLarge) }
        (method, target) = (words[0], words[1])
        minorVersion = words[2].hasSuffix("1") ? 1 : 0
        var fields: [Field] = []
        for line in lines.dropFirst() { try fields.append(Self.field(line)) }
        self.fields = fields
    }

    private static func field(_ line: Substring) throws(DoorRefusal.Thrown) -> Field {
        guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")), HTTPToken.isToken(line.utf8[..<colon]) else {
            throw malformed("a line that is no field")
        }
        var value = line.utf8[line.utf8.index(after: colon)...]
        while let first = value.first, first == 32 || first == 9 { value = value.dropFirst() }
        while let last = value.last, last == 32 || last == 9 { value = value.dropLast() }
        return Field(name: String(line[..<colon]), value: String(Substring(value)))
    }

    /// Whether a head may begin so: with the letters of a method.
    static func mayBegin(with bytes: [UInt8]) -> Bool {
        bytes.prefix { $0 != 32 }.prefix(64).allSatisfy(HTTPToken.mayContain)
            && (bytes.count < 64 || bytes.prefix(64).contains(32))
    }

    private static func malformed(_ what: String) -> DoorRefusal.Thrown {
        .init(DoorRefusal("malformed", "The request has \(what)."))
    }

    private static func isTextByte(_ byte: UInt8) -> Bool {
        byte >= 32 && byte != 127 || byte == 9 || byte == 10 || byte == 13
    }
}

// MARK: Fields

extension ProxyHead {
    func values(of key: String) -> [String] { fields.filter { $0.key == key }.map(\.value) }

    /// The password of Basic in `Proxy-Authorization` (RFC 7617); nil if there is none.
    var password: [UInt8]? {
        let values = values(of: "proxy-authorization")
        guard values.count == 1, let value = values.first, value.prefix(6).lowercased() == "basic ",
            let pair = try? Base64.decode(value.dropFirst(6).drop { $0 == " " }.utf8),
            let colon = pair.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        return Array(pair[(colon + 1)...])
    }

    /// In origin form, which programs send to servers.
    var isProxyFileRequest: Bool { method == "GET" && target == "/proxy.pac" }

    func framing() throws(DoorRefusal.Thrown) -> RequestFraming {
        let codings = values(of: "transfer-encoding")
        let lengths = values(of: "content-length")
        guard codings.isEmpty else {
            guard lengths.isEmpty, codings.count == 1, codings[0].lowercased() == "chunked", minorVersion == 1 else {
                throw .init(DoorRefusal("framing", "The end of the request's body can be understood in two ways."))
            }
            return .chunked
        }
        guard let first = lengths.first else { return .none }
        // Equal ones would be passed on as they are, and the next reader might take neither (RFC 9110 §8.6).
        guard lengths.count == 1, let length = Self.number(first) else {
            throw .init(DoorRefusal("framing", "Content-Length is not one number."))
        }
        return length == 0 ? .none : .length(length)
    }

    /// Nil for what is not digits only, and for more digits than `Int64` has in any case.
    static func number(_ text: String) -> Int64? {
        guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int64(text)
    }
}

// MARK: What is asked for

extension ProxyHead {
    /// - Throws: the refusal of what a door does not do.
    func request() throws(DoorRefusal.Thrown) -> DoorRequest {
        if method == "CONNECT" { return DoorRequest(form: .connect, target: try authority()) }
        guard !target.hasPrefix("/"), target != "*" else { throw .init(.originForm) }
        // `RequestURL` takes no notice of a tab around the URL, which would be sent on.
        guard !target.utf8.contains(9), let url = try? RequestURL(target) else {
            throw .init(DoorRefusal("malformed", "The request names no URL that can be asked for."))
        }
        guard url.scheme == "http", let endpoint = url.endpoint else { throw .init(.otherScheme) }
        let framing = try framing()
        return DoorRequest(form: .http, target: endpoint, head: try onwardHead(to: endpoint), body: framing)
    }

    private func authority() throws(DoorRefusal.Thrown) -> Endpoint {
        guard !target.utf8.contains(UInt8(ascii: "%")), !target.utf8.contains(UInt8(ascii: "@")),
            let endpoint = try? Endpoint(target)
        else { throw .init(DoorRefusal("malformed", "CONNECT wants HOST:PORT.")) }
        // A tunnel has no body; what would be one goes to the server as it is, and its length would lie.
        guard try framing() == .none else {
            throw .init(DoorRefusal("framing", "A request for a tunnel has no body (RFC 9110 §9.3.6)."))
        }
        return endpoint
    }
}

extension DoorRefusal {
    static let originForm = DoorRefusal(
        "originForm",
        "This is a proxy, not a server: requests name the whole URL, as programs do that are told of a proxy.")
    static let otherScheme = DoorRefusal(
        "scheme", "Only http:// is asked for in absolute form; programs reach other servers by CONNECT.",
        .notImplemented)
}
