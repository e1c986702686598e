/// Bytes by which a test sees that no part is missing, twice there or at another's place.
package enum Payload {
    /// Repeated as it is, since making each byte anew takes a program that is not optimised a second for 16 MiB. Its
    /// length is a prime number: after a part of a usual length that is missing, everything differs.
    private static let period = (0..<65_521).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

    package static func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count { bytes += period.prefix(count - bytes.count) }
        return bytes
    }
}
