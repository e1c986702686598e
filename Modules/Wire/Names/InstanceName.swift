internal import FoundationEssentials
internal import SallyportBase

/// One activated installation of an application: a UUID, in lower case.
package struct InstanceIdentifier: Sendable, Hashable, CustomStringConvertible, LosslessStringConvertible {
    package let description: String

    /// Reads the 36 characters of a UUID (RFC 9562 §4) in either case.
    package init?(_ text: String) {
        guard text.utf8.count == 36 else { return nil }
        var (place, isLower) = (0, true)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "-"): guard Self.isHyphen(place) else { return nil }
            case UInt8(ascii: "A")...UInt8(ascii: "F"):
                guard !Self.isHyphen(place) else { return nil }
                isLower = false
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"):
                guard !Self.isHyphen(place) else { return nil }
            default: return nil
            }
            place += 1
        }
        description = isLower ? text : text.lowercased()
    }

    private static func isHyphen(_ place: Int) -> Bool { place == 8 || place == 13 || place == 18 || place == 23 }

    /// A new random one (version 4).
    package init() { description = UUID().uuidString.lowercased() }

    /// One whose 122 free bits are the first of `bytes`, version 8 (RFC 9562 §5.8).
    ///
    /// - Parameter bytes: 16 at least.
    package init(version8 bytes: [UInt8]) {
        var bytes = Array(bytes.prefix(16))
        bytes[6] = bytes[6] & 0x0f | 0x80
        bytes[8] = bytes[8] & 0x3f | 0x80
        let groups = [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { Hexadecimal.text(Array(bytes[$0])) }
        description = groups.joined(separator: "-")
    }
}

extension InstanceIdentifier: TextCodable {}

/// The name in an instance's certificate, as its only URI: `sallyport://ENTITLEMENT/INSTANCE`.
package struct InstanceName: Sendable, Hashable, CustomStringConvertible, LosslessStringConvertible {
    package let entitlement: EntitlementIdentifier
    package let instance: InstanceIdentifier

    package init(entitlement: EntitlementIdentifier, instance: InstanceIdentifier) {
        self.entitlement = entitlement
        self.instance = instance
    }

    package init?(_ text: String) {
        let prefix = "sallyport://"
        guard text.hasPrefix(prefix), text.utf8.count <= 320 else { return nil }
        let rest = text.utf8.dropFirst(prefix.utf8.count)
        guard let slash = rest.firstIndex(of: UInt8(ascii: "/")) else { return nil }
        // By bytes: a mark that combines with the slash would vanish with it as one character.
        let (first, last) = (rest[..<slash], rest[slash...].dropFirst())
        guard let entitlement = EntitlementIdentifier(String(Substring(first))),
            let instance = InstanceIdentifier(String(Substring(last))), Substring(last) == instance.description
        else { return nil }
        self.init(entitlement: entitlement, instance: instance)
    }

    package var description: String { "sallyport://\(entitlement)/\(instance)" }
}

extension InstanceName: TextCodable {}
