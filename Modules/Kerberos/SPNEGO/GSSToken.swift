internal import SallyportBase
package import SallyportWire

/// A GSS-API mechanism: the contents of its object identifier.
package struct GSSMechanism: Sendable, Hashable {
    package let identifier: [UInt8]

    package init(identifier: [UInt8]) { self.identifier = identifier }

    /// 1.2.840.113554.1.2.2 (RFC 4121 §4.1).
    package static let kerberos = GSSMechanism(
        identifier: [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02])
    /// 1.2.840.48018.1.2.2: the same mechanism in Windows, whose number lost a bit (MS-SPNG §3.1.5.2).
    package static let kerberosOfWindows = GSSMechanism(
        identifier: [0x2a, 0x86, 0x48, 0x82, 0xf7, 0x12, 0x01, 0x02, 0x02])
    /// 1.3.6.1.5.5.2 (RFC 4178 §4.1).
    package static let negotiation = GSSMechanism(identifier: [0x2b, 0x06, 0x01, 0x05, 0x05, 0x02])

    package var isKerberos: Bool { self == .kerberos || self == .kerberosOfWindows }

    var element: [UInt8] { DERWriter.element(0x06, identifier) }
}

/// The first token of a mechanism, with its header (RFC 2743 §3.1).
package struct GSSToken: Sendable, Hashable {
    /// The longest token with its header, in bytes: the most that fits into a header field in base64.
    package static let maximumLength = 48 << 10
    /// The longest identifier of a mechanism, in bytes.
    static let maximumIdentifierLength = 64

    package var mechanism: GSSMechanism
    package var contents: [UInt8]

    package init(_ mechanism: GSSMechanism, _ contents: [UInt8]) {
        self.mechanism = mechanism
        self.contents = contents
    }

    package init(parsing bytes: [UInt8]) throws(WireError) {
        guard bytes.count <= Self.maximumLength else {
            throw WireError(.tooLarge, "A token of GSS-API has at most \(Self.maximumLength) bytes.")
        }
        var reader = DERReader(try DERReader.only(0x60, in: bytes[...]))
        mechanism = try GSSMechanism(identifier: Self.identifier(reader.element(0x06)))
        contents = Array(reader.rest)
    }

    static func identifier(_ contents: ArraySlice<UInt8>) throws(WireError) -> [UInt8] {
        guard (1...maximumIdentifierLength).contains(contents.count) else {
            throw WireError(.malformed, "A mechanism's identifier has 1 to \(maximumIdentifierLength) bytes.")
        }
        return Array(contents)
    }

    package var serialized: [UInt8] { DERWriter.element(0x60, mechanism.element + contents) }
}

/// A Kerberos message as a GSS-API token (RFC 4121 §4.1).
package struct KerberosToken: Sendable, Hashable {
    package enum Kind: UInt16, Sendable, Hashable {
        /// AP-REQ, AP-REP and KRB-ERROR of RFC 4120.
        case request = 0x0100
        case reply = 0x0200
        case error = 0x0300
    }

    package var kind: Kind
    /// DER.
    package var message: [UInt8]

    package init(_ kind: Kind, _ message: [UInt8]) {
        self.kind = kind
        self.message = message
    }

    package init(parsing bytes: [UInt8]) throws(WireError) {
        let token = try GSSToken(parsing: bytes)
        guard token.mechanism.isKerberos else { throw WireError(.unsupported, "The token is not one of Kerberos.") }
        guard token.contents.count > 2,
            let kind = Kind(rawValue: UInt16(bigEndianBytes: token.contents.prefix(2)))
        else { throw WireError(.malformed, "The token does not begin a Kerberos context.") }
        self.init(kind, Array(token.contents.dropFirst(2)))
    }

    package var serialized: [UInt8] {
        GSSToken(.kerberos, kind.rawValue.bigEndianBytes + message).serialized
    }
}
