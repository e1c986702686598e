@testable import SallyportKerberos

/// Errors that a KDC of the realm EXAMPLE.TEST reports: KRB-ERROR (RFC 4120 §5.9.1).
enum KDCError {
    /// - Parameter data: the error's `e-data`.
    static func message(_ code: UInt8, data: [UInt8]? = nil) -> [UInt8] {
        let names = sequence(text("krbtgt") + text("EXAMPLE.TEST"))
        var fields = part(0, number(5)) + part(1, number(30))
        fields += part(4, DERWriter.element(0x18, Array("20300101000000Z".utf8))) + part(5, number(0))
        fields += part(6, number(code)) + part(9, text("EXAMPLE.TEST"))
        fields += part(10, sequence(part(0, number(2)) + part(1, names)))
        if let data { fields += part(12, bytes(data)) }
        return DERWriter.element(0x7e, sequence(fields))
    }

    /// The time has to be sent encrypted with the password's key, of AES-256.
    ///
    /// - Parameter count: how often the password is hashed, four bytes (RFC 3962 §4).
    static func demand(hashedTimes count: [UInt8]) -> [UInt8] {
        func method(_ kind: UInt8, _ value: [UInt8]) -> [UInt8] {
            sequence(part(1, number(kind)) + part(2, bytes(value)))
        }
        let keys = sequence(sequence(part(0, number(18)) + part(1, text("salt")) + part(2, bytes(count))))
        return message(25, data: sequence(method(19, keys) + method(2, [])))
    }

    private static func number(_ value: UInt8) -> [UInt8] { DERWriter.element(0x02, [value]) }
    private static func text(_ text: String) -> [UInt8] { DERWriter.element(0x1b, Array(text.utf8)) }
    private static func bytes(_ contents: [UInt8]) -> [UInt8] { DERWriter.element(0x04, contents) }
    private static func sequence(_ contents: [UInt8]) -> [UInt8] { DERWriter.element(0x30, contents) }
    private static func part(_ number: UInt8, _ contents: [UInt8]) -> [UInt8] {
        DERWriter.element(0xa0 + number, contents)
    }
}
