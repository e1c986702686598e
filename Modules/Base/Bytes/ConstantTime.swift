/// Comparison whose time does not depend on the place at which two values differ. The lengths may be revealed.
package enum ConstantTime {
    package static func areEqual(_ one: some Collection<UInt8>, _ other: some Collection<UInt8>) -> Bool {
        guard one.count == other.count else { return false }
        return zip(one, other).reduce(into: UInt8(0)) { $0 |= $1.0 ^ $1.1 } == 0
    }

    /// Compares UTF-8 bytes, so that two spellings of one character are different.
    package static func areEqual(_ one: String, _ other: String) -> Bool { areEqual(one.utf8, other.utf8) }
}
