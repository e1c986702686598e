internal import CIDN2
internal import Glibc
internal import SallyportBase

/// The host of a URL in the one spelling that routing, cookies, cache, SNI, certificates and connections use.
///
/// A URL's host becomes a `Host` once: percent-decoded, mapped by UTS-46 to A-labels, lower case, one final dot
/// dropped, every spelling of an IPv4 number as four numbers. Anything else is refused.
public enum Host: Sendable, Hashable, CustomStringConvertible {
    /// A name of A-labels in lower case, at most 253 bytes, without a final dot.
    case name(String)
    /// An IPv4 or IPv6 address; an IPv6 address has no zone.
    case address(IPAddress)

    /// Reads the host part of a URL or an authority; IPv6 may be in brackets.
    public init(_ text: String) throws(AddressError) {
        if let plain = Self.plainName(text) {
            self = .name(plain)
            return
        }
        if let plain = Self.plainNumbers(text) {
            self = .address(.v4(plain))
            return
        }
        if text.utf8.first == UInt8(ascii: "[") || text.utf8.contains(UInt8(ascii: ":")) {
            self = try .address(Self.ipv6(text))
            return
        }
        let name = try Self.mapped(Self.percentDecoded(text))
        self = try Self.endsInNumber(name) ? .address(.v4(Self.ipv4(name))) : .name(Self.validated(name))
    }

    /// The form in an authority: IPv6 in brackets.
    public var description: String {
        switch self {
        case .name(let name): name
        case .address(let address): if case .v6 = address { "[\(address)]" } else { "\(address)" }
        }
    }

    /// The form in SNI, a certificate and a resolver's query: without brackets.
    public var bareText: String {
        switch self {
        case .name(let name): name
        case .address(let address): "\(address)"
        }
    }
}

// MARK: Names

extension Host {
    /// The text itself if no rule changes it: the common case, without a call into libidn2.
    private static func plainName(_ text: String) -> String? {
        var text = text
        return text.withUTF8 { bytes -> Bool in
            guard (1...253).contains(bytes.count) else { return false }
            var labelStart = 0
            var lastLabelHasLetter = false
            for index in 0..<bytes.count {
                switch unsafe bytes[index] {
                case UInt8(ascii: "a")...UInt8(ascii: "z"): lastLabelHasLetter = true
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): break
                case UInt8(ascii: "-"):
                    // A hyphen at an edge is refused, and "xn--" (any "??--") is left to UTS-46.
                    if index == labelStart || index - labelStart == 2 || index + 1 == bytes.count { return false }
                    if unsafe bytes[index + 1] == UInt8(ascii: ".") { return false }
                case UInt8(ascii: "."):
                    guard index > labelStart, index - labelStart <= 63, index + 1 < bytes.count else { return false }
                    labelStart = index + 1
                    lastLabelHasLetter = false
                default: return false
                }
            }
            // "0x7f" contains a letter too: a first digit in the last label is left to the slow path.
            let first = unsafe bytes[labelStart]
            return lastLabelHasLetter && bytes.count - labelStart <= 63 && !(48...57).contains(first)
        } ? text : nil
    }

    private static func mapped(_ text: String) throws(AddressError) -> String {
        guard !text.isEmpty, text.utf8.count <= 1024, !text.utf8.contains(0) else {
            throw AddressError(.invalidHost, "A host has 1 to 253 bytes.")
        }
        var output: UnsafeMutablePointer<CChar>?
        let flags = Int32(IDN2_NONTRANSITIONAL.rawValue) | Int32(IDN2_NFC_INPUT.rawValue)
        let code = unsafe idn2_to_ascii_8z(text, &output, flags)
        defer { unsafe idn2_free(output) }
        guard code == IDN2_OK.rawValue, let output = unsafe output else {
            throw AddressError(.invalidHost, "The name has no form in A-labels (UTS-46).")
        }
        var name = unsafe String(cString: output).lowercased()
        if name.hasSuffix(".") { name.removeLast() }
        return name
    }

    private static func validated(_ name: String) throws(AddressError) -> String {
        let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let isValid = labels.allSatisfy { label in
            (1...63).contains(label.count) && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
                && label.allSatisfy(isNameByte)
        }
        guard name.utf8.count <= 253, isValid else {
            throw AddressError(.invalidHost, "Labels have 1 to 63 letters, digits and inner hyphens.")
        }
        return name
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }

    private static func percentDecoded(_ text: String) throws(AddressError) -> String {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return text }
        guard let bytes = PercentCoding.decoded(text), let decoded = String(validating: bytes, as: UTF8.self),
            !decoded.utf8.contains(UInt8(ascii: "%"))
        else { throw AddressError(.invalidHost, "The percent-encoding of the host is not UTF-8.") }
        return decoded
    }
}

// MARK: Numbers

extension Host {
    private static func ipv6(_ text: String) throws(AddressError) -> IPAddress {
        var text = Substring(text)
        if text.first == "[" {
            guard text.last == "]" else { throw AddressError(.invalidHost, "An IPv6 host ends with a bracket.") }
            text = text.dropFirst().dropLast()
        }
        guard let address = IPAddress(String(text)), case .v6 = address else {
            throw AddressError(.invalidHost, "Not an IPv6 address (RFC 4291); zones are not taken.")
        }
        return address
    }

    /// The IPv4 address if it is written in the usual way, as four decimal numbers, without a call into libidn2. All
    /// other spellings are left to the rules for names.
    private static func plainNumbers(_ text: String) -> UInt32? {
        var (address, number, digits, dots) = (UInt32(0), UInt32(0), 0, 0)
        guard text.utf8.count <= 15 else { return nil }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                // A leading zero makes a number octal.
                guard digits == 0 || number > 0 else { return nil }
                number = number * 10 + UInt32(byte - UInt8(ascii: "0"))
                digits += 1
                guard number <= 255 else { return nil }
            case UInt8(ascii: "."):
                guard digits > 0, dots < 3 else { return nil }
                address = address << 8 | number
                (number, digits) = (0, 0)
                dots += 1
            default: return nil
            }
        }
        return dots == 3 && digits > 0 ? address << 8 | number : nil
    }

    /// Whether the last label is a number, so that the whole can only be an IPv4 number (URL standard, "ends in a
    /// number").
    private static func endsInNumber(_ name: String) -> Bool {
        guard let last = name.split(separator: ".", omittingEmptySubsequences: false).last, !last.isEmpty else {
            return false
        }
        if last.utf8.allSatisfy({ (48...57).contains($0) }) { return true }
        // Even if it is too large to be one.
        return last.hasPrefix("0x") && last.dropFirst(2).allSatisfy(\.isHexDigit)
    }

    /// One to four numbers, decimal, octal (0…) or hexadecimal (0x…), the last of which fills the remaining bytes: the
    /// forms that `inet_aton` and browsers accept.
    private static func ipv4(_ name: String) throws(AddressError) -> UInt32 {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.compactMap(number)
        guard parts.count <= 4, numbers.count == parts.count, let last = numbers.last,
            numbers.dropLast().allSatisfy({ $0 <= 255 }), last < UInt64(1) << (8 * UInt64(5 - numbers.count))
        else { throw AddressError(.invalidHost, "The host ends in a number but is not an IPv4 address.") }
        let high = numbers.dropLast().enumerated().reduce(UInt64(0)) { sum, part in
            sum | part.element << (24 - 8 * UInt64(part.offset))
        }
        return UInt32(high | last)
    }

    private static func number(_ text: Substring) -> UInt64? {
        if text.hasPrefix("0x") { return text.count == 2 ? 0 : unsigned(text.dropFirst(2), radix: 16) }
        if text.hasPrefix("0"), text.count > 1 { return unsigned(text.dropFirst(), radix: 8) }
        return unsigned(text, radix: 10)
    }

    private static func unsigned(_ text: Substring, radix: Int) -> UInt64? {
        guard text.first != "+", text.first != "-" else { return nil }
        return UInt64(text, radix: radix)
    }
}
