internal import RawStructuredFieldValues

/// Reports of intermediaries about an answer (RFC 9209): the value of `Proxy-Status`.
package struct ProxyStatus: Sendable, Hashable {
    /// The longest value that is read, in bytes.
    package static let maximumLength = 8192
    /// The most intermediaries in one value.
    package static let maximumCount = 32

    /// One intermediary, the one nearest to the server first.
    package struct Member: Sendable, Hashable {
        /// A token or a host name.
        package var name: String
        /// A proxy error type (RFC 9209 §2.3).
        package var error: String?
        package var receivedStatus: Int?
        package var nextHop: String?
        package var details: String?

        package init(
            _ name: String, error: String? = nil, receivedStatus: Int? = nil, nextHop: String? = nil,
            details: String? = nil
        ) {
            self.name = name
            self.error = error
            self.receivedStatus = receivedStatus
            self.nextHop = nextHop
            self.details = details
        }
    }

    package var members: [Member]
    package init(_ members: [Member]) { self.members = members }
}

/// Error types of RFC 9209 §2.3 that the relay uses.
extension ProxyStatus {
    package enum ErrorType {
        package static let dnsTimeout = "dns_timeout"
        package static let dnsError = "dns_error"
        package static let destinationUnavailable = "destination_unavailable"
        package static let destinationIPProhibited = "destination_ip_prohibited"
        package static let destinationIPUnroutable = "destination_ip_unroutable"
        package static let connectionRefused = "connection_refused"
        package static let connectionTimeout = "connection_timeout"
        package static let connectionLimitReached = "connection_limit_reached"
        package static let requestDenied = "http_request_denied"
        package static let requestError = "http_request_error"
        package static let proxyInternalError = "proxy_internal_error"
    }
}

extension ProxyStatus {
    /// Reads a field value; members that are not items, and parameters of other types, are skipped.
    package init(parsing text: String) throws(WireError) {
        guard text.utf8.count <= Self.maximumLength else {
            throw WireError(.tooLarge, "Proxy-Status has at most \(Self.maximumLength) bytes.")
        }
        var parser = StructuredFieldValueParser(Array(text.utf8))
        guard let list = try? parser.parseListFieldValue() else {
            throw WireError(.malformed, "Proxy-Status is not a list of RFC 9651.")
        }
        guard list.count <= Self.maximumCount else {
            throw WireError(.tooLarge, "Proxy-Status names at most \(Self.maximumCount) intermediaries.")
        }
        members = list.compactMap { entry in
            guard case .item(let item) = entry, let name = Self.text(item.rfc9651BareItem) else { return nil }
            return Member(
                name, error: Self.text(item.rfc9651Parameters["error"]),
                receivedStatus: Self.number(item.rfc9651Parameters["received-status"]),
                nextHop: Self.text(item.rfc9651Parameters["next-hop"]),
                details: Self.text(item.rfc9651Parameters["details"]))
        }
    }

    /// The field value. Bytes outside visible ASCII become `?`, since strings of a structured field cannot contain
    /// them.
    package func serialized() throws(WireError) -> String {
        do {
            var serializer = StructuredFieldValueSerializer()
            let bytes = try serializer.writeListFieldValue(members.map { .item(Self.item($0)) })
            return String(decoding: bytes, as: UTF8.self)
        } catch {
            throw WireError(.malformed, "The status has no form as Proxy-Status.", underlying: error)
        }
    }

    private static func item(_ member: Member) -> Item {
        var parameters = OrderedMap<String, RFC9651BareItem>()
        if let error = member.error { parameters["error"] = isToken(error) ? .token(error) : .string(plain(error)) }
        if let status = member.receivedStatus { parameters["received-status"] = .integer(Int64(status)) }
        if let hop = member.nextHop { parameters["next-hop"] = .string(plain(hop)) }
        if let details = member.details { parameters["details"] = .string(plain(details)) }
        let name: RFC9651BareItem = isToken(member.name) ? .token(member.name) : .string(plain(member.name))
        return Item(bareItem: name, parameters: parameters)
    }

    private static func plain(_ text: String) -> String {
        String(decoding: text.utf8.map { (0x20...0x7e).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }

    /// RFC 9651 §3.3.4.
    private static func isToken(_ text: String) -> Bool {
        guard let first = text.utf8.first, isLetter(first) || first == UInt8(ascii: "*") else { return false }
        return text.utf8.allSatisfy { byte in
            isLetter(byte) || (48...57).contains(byte) || "!#$%&'*+-.^_`|~:/".utf8.contains(byte)
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (65...90).contains(byte) || (97...122).contains(byte) }

    private static func text(_ item: RFC9651BareItem?) -> String? {
        switch item {
        case .string(let text), .token(let text): text
        default: nil
        }
    }

    private static func number(_ item: RFC9651BareItem?) -> Int? {
        if case .integer(let number) = item { Int(number) } else { nil }
    }
}
