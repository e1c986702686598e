internal import SallyportWire

// How long apps may work without contact to the gateway.
extension Directory {
    /// 24 hours.
    static let standardLease: Int64 = 24 * 3600

    /// In seconds.
    var lease: Int64 { leaseLength ?? Self.standardLease }

    /// - Parameter text: a whole number with `m`, `h` or `d`: minutes, hours or days.
    mutating func setLease(_ text: String) throws(GatewayError) {
        guard let seconds = Self.seconds(text), ConfigurationDocument.Limits.lease.contains(seconds) else {
            throw GatewayError(.invalid, "A lease is 5m to 7d, in minutes, hours or days: 90m, 12h, 3d.")
        }
        leaseLength = seconds == Self.standardLease ? nil : seconds
    }

    private static let units: [(name: Character, seconds: Int64)] = [("d", 86_400), ("h", 3_600), ("m", 60)]

    private static func seconds(_ text: String) -> Int64? {
        guard let unit = units.first(where: { $0.name == text.last }), text.utf8.count <= 6,
            text.utf8.dropLast().allSatisfy({ 48...57 ~= $0 }), let number = Int64(text.dropLast())
        else { return nil }
        return number * unit.seconds
    }

    /// The lease in the greatest unit of which it is a whole number; nil if it is the default.
    var declaredLease: String? {
        leaseLength.flatMap { seconds in
            Self.units.first { seconds % $0.seconds == 0 }.map { "\(seconds / $0.seconds)\($0.name)" }
        }
    }
}
