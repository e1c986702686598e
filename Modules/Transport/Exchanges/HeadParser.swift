internal import HTTPTypes
internal import SallyportCore

/// Reads a header block as libcurl hands it over: a status line, fields, a blank line.
enum HeadParser {
    static func parse(_ octets: [UInt8]) throws(LoadError) -> HTTPResponse {
        let response = unsafe octets.withUnsafeBufferPointer { unsafe parse($0) }
        guard let response, response.status.code != 101 else {
            throw LoadError(.protocolViolation, at: .response, "The answer has no status line that can be read.")
        }
        return response
    }

    /// The fields of an interim head.
    static func fields(ofHead octets: [UInt8]) -> HTTPFields { (try? parse(octets))?.headerFields ?? [:] }

    /// Fields without a status line.
    static func fields(in octets: [UInt8]) -> HTTPFields {
        fields(ofHead: Array("HTTP/1.1 200 OK\r\n".utf8) + octets)
    }

    private static func parse(_ octets: UnsafeBufferPointer<UInt8>) -> HTTPResponse? {
        var fields = HTTPFields()
        fields.reserveCapacity(16)
        var status: HTTPResponse.Status?
        var start = 0
        while start < octets.count {
            var end = start
            while end < octets.count, unsafe octets[end] != UInt8(ascii: "\n") { end += 1 }
            // What begins with white space goes on with the value above it (RFC 9112 §5.2).
            while unsafe status != nil && isFolded(octets, at: end + 1) {
                end += 1
                while end < octets.count, unsafe octets[end] != UInt8(ascii: "\n") { end += 1 }
            }
            let line = unsafe trimmed(octets, start..<end)
            if let field = unsafe status == nil ? nil : field(octets, line) { fields.append(field) }
            if status == nil {
                status = unsafe Self.status(octets, line)
                if status == nil { return nil }
            }
            start = end + 1
        }
        return status.map { HTTPResponse(status: $0, headerFields: fields) }
    }

    private static func isFolded(_ octets: UnsafeBufferPointer<UInt8>, at start: Int) -> Bool {
        unsafe start < octets.count && (octets[start] == 32 || octets[start] == 9)
    }

    /// `HTTP/1.1 200 OK`; HTTP/2 has no reason.
    private static func status(_ octets: UnsafeBufferPointer<UInt8>, _ line: Range<Int>) -> HTTPResponse.Status? {
        guard let space = line.first(where: { unsafe octets[$0] == UInt8(ascii: " ") }) else { return nil }
        let digits = space + 1..<min(space + 4, line.upperBound)
        let isNumber = digits.count == 3 && digits.allSatisfy { unsafe (48...57).contains(octets[$0]) }
        guard isNumber else { return nil }
        let code = digits.reduce(0) { unsafe $0 * 10 + Int(octets[$1] - 48) }
        guard code >= 100 else { return nil }
        if code == 200 { return .ok }
        let reason = unsafe trimmed(octets, digits.upperBound..<line.upperBound)
        return unsafe .init(code: code, reasonPhrase: String(decoding: octets[reason], as: UTF8.self))
    }

    private static func field(_ octets: UnsafeBufferPointer<UInt8>, _ line: Range<Int>) -> HTTPField? {
        var colon = line.lowerBound
        while unsafe colon < line.upperBound && octets[colon] != UInt8(ascii: ":") { colon += 1 }
        guard colon < line.upperBound,
            let name = unsafe FieldNames.name(of: UnsafeBufferPointer(rebasing: octets[line.lowerBound..<colon]))
        else { return nil }
        let value = unsafe trimmed(octets, colon + 1..<line.upperBound)
        return unsafe self.field(name, UnsafeBufferPointer(rebasing: octets[value]))
    }

    /// Most values are printable ASCII: a string is made of them without the check of each byte for what is kept of others.
    private static func field(_ name: HTTPField.Name, _ value: UnsafeBufferPointer<UInt8>) -> HTTPField {
        var isPlain = true
        var index = 0
        while index < value.count {
            if unsafe value[index] &- 32 >= 95 { isPlain = false }
            index += 1
        }
        guard isPlain else { return unsafe HTTPField(name: name, lenientValue: Array(value)) }
        return unsafe HTTPField(name: name, value: String(decoding: value, as: UTF8.self))
    }

    private static func trimmed(_ octets: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, unsafe isBlank(octets[start]) { start += 1 }
        while end > start, unsafe isBlank(octets[end - 1]) { end -= 1 }
        return start..<end
    }

    private static func isBlank(_ octet: UInt8) -> Bool { octet == 32 || octet == 9 || octet == 13 }
}
