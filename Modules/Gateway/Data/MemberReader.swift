internal import SallyportBase

/// Reads the members of a JSON object (RFC 8259) in one pass, in the form in which `JSONEncoder` writes one: no white
/// space, and of the escapes only that of a solidus. A step fails if the text goes on in another way; `JSONDecoder` is
/// asked then. For texts that a gateway has sealed: it refuses not all that is no JSON.
///
/// `JSONDecoder` takes 20 µs for a record of an instance, most of it for containers and their types, and a gateway of a
/// fleet reads one for each instance when it starts (`Benchmarks/instances.sh`).
struct MemberReader {
    private let bytes: [UInt8]
    private var place = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { place == bytes.count }

    /// Reads an object.
    ///
    /// - Parameter read: reads the value of the member with this name; returns whether it has.
    /// - Returns: whether the whole object was read.
    mutating func object(_ read: (_ name: String, inout MemberReader) -> Bool) -> Bool {
        guard take("{") else { return false }
        if take("}") { return true }
        repeat {
            guard let name = string(), take(":"), read(name, &self) else { return false }
        } while take(",")
        return take("}")
    }

    mutating func strings() -> [String]? {
        guard take("[") else { return nil }
        if take("]") { return [] }
        var values: [String] = []
        repeat {
            guard let value = string() else { return nil }
            values.append(value)
        } while take(",")
        return take("]") ? values : nil
    }

    mutating func string() -> String? {
        guard take("\"") else { return nil }
        let start = place
        var (escapes, union) = (0, UInt8(0))
        while place < bytes.count {
            union |= bytes[place]
            switch bytes[place] {
            case UInt8(ascii: "\""):
                defer { place += 1 }
                return text(start..<place, escapes, isASCII: union < 0x80)
            case UInt8(ascii: "\\"):
                guard place + 1 < bytes.count, bytes[place + 1] == UInt8(ascii: "/") else { return nil }
                escapes += 1
                place += 2
            default: place += 1
            }
        }
        return nil
    }

    private func text(_ range: Range<Int>, _ escapes: Int, isASCII: Bool) -> String? {
        // Needs no validation; that of the library costs a look-up of types for each text.
        if escapes == 0, isASCII { return String(decoding: bytes[range], as: UTF8.self) }
        guard escapes > 0 else { return String(validating: bytes[range], as: UTF8.self) }
        return String(validating: bytes[range].filter { $0 != UInt8(ascii: "\\") }, as: UTF8.self)
    }

    mutating func integer() -> Int64? { Int64(number()) }

    mutating func double() -> Double? { Double(number()) }

    private mutating func number() -> String {
        let start = place
        while place < bytes.count, Self.isInNumber(bytes[place]) { place += 1 }
        return String(decoding: bytes[start..<place], as: UTF8.self)
    }

    private static func isInNumber(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."),
            UInt8(ascii: "e"), UInt8(ascii: "E"):
            true
        default: false
        }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard place < bytes.count, bytes[place] == UInt8(ascii: character) else { return false }
        place += 1
        return true
    }
}
