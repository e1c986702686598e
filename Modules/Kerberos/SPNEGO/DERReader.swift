internal import SallyportWire

/// Reads DER elements (X.690 §10) from the front of bytes: definite lengths in the shortest form and tags of one byte,
/// which is sufficient for GSS-API. The contents of an element are not checked.
///
/// SwiftASN1 is not used, since the bytes after the mechanism in a GSS-API token (RFC 2743 §3.1) are not ASN.1.
struct DERReader {
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }
    /// The tag of the next element.
    var next: UInt8? { rest.first }

    /// The contents of a required element.
    mutating func element(_ tag: UInt8) throws(WireError) -> ArraySlice<UInt8> {
        guard rest.first == tag else { throw WireError(.malformed, "Another element was expected.") }
        rest.removeFirst()
        let count = try length()
        guard rest.count >= count else { throw WireError(.malformed, "An element ends before its end.") }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    /// The contents, if the next element has this tag.
    mutating func optional(_ tag: UInt8) throws(WireError) -> ArraySlice<UInt8>? {
        rest.first == tag ? try element(tag) : nil
    }

    /// The contents of the only element inside an element.
    static func only(_ tag: UInt8, in bytes: ArraySlice<UInt8>) throws(WireError) -> ArraySlice<UInt8> {
        var reader = DERReader(bytes)
        let contents = try reader.element(tag)
        guard reader.isAtEnd else { throw WireError(.malformed, "There are bytes after an element.") }
        return contents
    }

    private mutating func length() throws(WireError) -> Int {
        guard let first = rest.popFirst() else { throw WireError(.malformed, "An element has no length.") }
        guard first >= 0x80 else { return Int(first) }
        let count = Int(first & 0x7f)
        // Three bytes exceed every limit here.
        guard (1...3).contains(count), rest.count >= count else {
            throw WireError(.malformed, "A length has no definite form, or is too long.")
        }
        let length = rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
        let isShortest = length >= 0x80 && rest.first != 0
        guard isShortest else { throw WireError(.malformed, "A length is longer than it has to be.") }
        rest = rest.dropFirst(count)
        return length
    }
}

/// Writes DER elements.
enum DERWriter {
    static func element(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] { [tag] + length(contents.count) + contents }

    private static func length(_ count: Int) -> [UInt8] {
        guard count >= 0x80 else { return [UInt8(count)] }
        var (rest, bytes): (Int, [UInt8]) = (count, [])
        while rest > 0 {
            bytes.insert(UInt8(rest & 0xff), at: 0)
            rest >>= 8
        }
        return [0x80 | UInt8(bytes.count)] + bytes
    }
}
