internal import Glibc

/// An IPv4 or IPv6 address, without a zone.
public enum IPAddress: Sendable, Hashable, CustomStringConvertible {
    /// Four bytes, the first in the highest byte.
    case v4(UInt32)
    /// Sixteen bytes in two halves, the first byte in the highest byte of `high`.
    case v6(high: UInt64, low: UInt64)

    /// Reads strict notation: four decimal numbers (RFC 6943 §3.1.1 "strict"), or IPv6 text (RFC 4291 §2.2).
    public init?(_ text: String) {
        if let number = Self.strictIPv4(text) {
            self = .v4(number)
            return
        }
        guard text.utf8.count <= 45, text.utf8.contains(UInt8(ascii: ":")), !text.utf8.contains(0) else { return nil }
        var address = in6_addr()
        guard unsafe inet_pton(AF_INET6, text, &address) == 1 else { return nil }
        let bytes = unsafe withUnsafeBytes(of: &address) { unsafe Array($0) }
        self = Self(sixteen: bytes)
    }

    private init(sixteen bytes: [UInt8]) {
        func half(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        self = .v6(high: half(bytes[0..<8]), low: half(bytes[8..<16]))
    }

    /// Reads 4 or 16 bytes in network order; nil for any other count.
    public init?(bytes: [UInt8]) {
        switch bytes.count {
        case 4: self = .v4(bytes.reduce(0) { $0 << 8 | UInt32($1) })
        case 16: self = Self(sixteen: bytes)
        default: return nil
        }
    }

    /// The address in network order: 4 or 16 bytes.
    public var bytes: [UInt8] {
        switch self {
        case .v4(let number): (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
        case .v6(let high, let low):
            [high, low].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * $0)) } }
        }
    }

    /// Canonical text: RFC 5952 for IPv6, four decimal numbers for IPv4.
    public var description: String {
        switch self {
        case .v4(let number): return Self.dotted(number)
        case .v6:
            var address = bytes
            var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
            guard unsafe inet_ntop(AF_INET6, &address, &text, socklen_t(text.count)) != nil else { return "::" }
            return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    /// Used by each request to such an address.
    private static func dotted(_ number: UInt32) -> String {
        unsafe String(unsafeUninitializedCapacity: 15) { text in
            var count = 0
            for shift in stride(from: 24, through: 0, by: -8) {
                let byte = UInt8(truncatingIfNeeded: number >> shift)
                if count > 0 { unsafe append(UInt8(ascii: "."), to: text, &count) }
                if byte > 99 { unsafe append(48 + byte / 100, to: text, &count) }
                if byte > 9 { unsafe append(48 + byte / 10 % 10, to: text, &count) }
                unsafe append(48 + byte % 10, to: text, &count)
            }
            return count
        }
    }

    private static func append(_ byte: UInt8, to text: UnsafeMutableBufferPointer<UInt8>, _ count: inout Int) {
        unsafe text[count] = byte
        count += 1
    }

    private static func strictIPv4(_ text: String) -> UInt32? {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var number: UInt32 = 0
        for part in parts {
            guard (1...3).contains(part.count), part.count == 1 || part.first != UInt8(ascii: "0"),
                part.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let byte = UInt8(Substring(part))
            else { return nil }
            number = number << 8 | UInt32(byte)
        }
        return number
    }
}

extension IPAddress {
    /// The purpose of an address, as far as a relay must know it before connecting.
    public enum Scope: Sendable, Hashable {
        case loopback, linkLocal, unspecified, multicast
        /// An IPv6 form that carries an IPv4 address: mapped, translated, compatible, NAT64, 6to4 or Teredo.
        case embedded
        /// Everything else, private ranges included.
        case general
    }

    /// The scope (RFC 6890, RFC 4291 §2.5, RFC 6052, RFC 3056, RFC 4380, RFC 7915).
    public var scope: Scope {
        switch self {
        case .v4(let number): Self.scope(ofIPv4: number)
        case .v6(let high, let low): Self.scope(ofIPv6: high, low)
        }
    }

    private static func scope(ofIPv4 number: UInt32) -> Scope {
        switch number >> 24 {
        case 0: .unspecified
        case 127: .loopback
        case 169 where number >> 16 == 0xa9fe: .linkLocal
        case 224...255: .multicast
        default: .general
        }
    }

    private static func scope(ofIPv6 high: UInt64, _ low: UInt64) -> Scope {
        if high == 0 {
            if low == 0 { return .unspecified }
            if low == 1 { return .loopback }
            if low >> 32 == 0 || low >> 32 == 0xffff || low >> 32 == 0xffff_0000 { return .embedded }
        }
        switch high >> 48 {
        case 0xfe80...0xfebf: return .linkLocal
        case 0xff00...0xffff: return .multicast
        case 0x2002: return .embedded
        default: break
        }
        // 64:ff9b::/96 (RFC 6052) and 64:ff9b:1::/48 (RFC 8215).
        if high >> 32 == 0x0064_ff9b { return .embedded }
        // 2001::/32 (RFC 4380).
        if high >> 32 == 0x2001_0000 { return .embedded }
        return .general
    }
}
