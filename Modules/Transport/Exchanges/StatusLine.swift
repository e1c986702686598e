internal import HTTPTypes

/// The first line of an answer: `HTTP/1.1 200`, `HTTP/1.0 200 OK` (RFC 9112 §4), and libcurl's `HTTP/2 200`.
struct StatusLine {
    let status: HTTPResponse.Status
    /// Of HTTP/1: 0 or 1; nil for HTTP/2.
    let minorVersion: Int?

    /// - Parameter line: without its line break.
    init?(_ line: UnsafeRawBufferPointer) {
        guard line.count >= 10, unsafe line.begins(with: "HTTP/"), unsafe !line.hasControl else { return nil }
        let code: Range<Int>
        switch unsafe line[5] {
        case UInt8(ascii: "1"):
            guard line.count >= 12, unsafe line[6] == UInt8(ascii: "."), case let minor = unsafe line[7] &- 48,
                minor <= 1
            else { return nil }
            (minorVersion, code) = (Int(minor), 9..<12)
        case UInt8(ascii: "2"): (minorVersion, code) = (nil, 7..<10)
        default: return nil
        }
        guard unsafe line[code.lowerBound - 1] == 32,
            unsafe line.count == code.upperBound || line[code.upperBound] == 32,
            let number = unsafe line.number(in: code), number >= 100
        else { return nil }
        status = unsafe Self.status(Int(number), reason: UnsafeRawBufferPointer(rebasing: line[code.upperBound...]))
    }

    private static func status(_ code: Int, reason: UnsafeRawBufferPointer) -> HTTPResponse.Status {
        if code == 200 { return .ok }
        return unsafe .init(code: code, reasonPhrase: String(decoding: reason.trimmed, as: UTF8.self))
    }
}
