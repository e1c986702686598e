internal import SwiftASN1

/// A certs-only PKCS#7 message (RFC 5652 §5, RFC 7030 §4.1.3): a degenerate signed-data without signers, in which EST
/// transfers certificates.
package struct CertificateBag: Sendable, Hashable {
    package static let maximumLength = 64 << 10
    package static let maximumCount = 8

    /// DER, in the message's order, which is unrelated to the chain.
    package let certificates: [[UInt8]]

    package init(_ certificates: [[UInt8]]) { self.certificates = certificates }
}

extension CertificateBag {
    /// Reads a message. BER, because other implementations do not sort the SET.
    package init(parsing bytes: [UInt8]) throws(WireError) {
        guard bytes.count <= Self.maximumLength else {
            throw WireError(.tooLarge, "A PKCS#7 message has at most \(Self.maximumLength) bytes.")
        }
        do {
            certificates = try Self.certificates(in: BER.parse(bytes))
        } catch let error as WireError {
            throw error
        } catch {
            throw WireError(.malformed, "Not a PKCS#7 message.", underlying: error)
        }
    }

    private static func certificates(in node: ASN1Node) throws -> [[UInt8]] {
        let content = try children(of: node, tag: .sequence)
        guard content.count == 2, try ASN1ObjectIdentifier(berEncoded: content[0]) == ObjectIdentifiers.signedData
        else { throw WireError(.malformed, "The PKCS#7 message is not signed data.") }
        let explicit = try children(of: content[1], tag: contextZero)
        guard explicit.count == 1 else { throw WireError(.malformed, "Nothing may follow signed data.") }
        // version, digest algorithms and content, then the certificates.
        let fields = try children(of: explicit[0], tag: .sequence)
        guard fields.count >= 4, let bag = fields.dropFirst(3).first(where: { $0.identifier == contextZero }) else {
            throw WireError(.malformed, "The PKCS#7 message holds no certificates.")
        }
        let nodes = try children(of: bag, tag: contextZero)
        guard !nodes.isEmpty, nodes.count <= maximumCount, nodes.allSatisfy({ $0.identifier == .sequence }) else {
            throw WireError(.malformed, "A PKCS#7 message holds 1 to \(maximumCount) certificates.")
        }
        return nodes.map { Array($0.encodedBytes) }
    }

    private static var contextZero: ASN1Identifier { ASN1Identifier(tagWithNumber: 0, tagClass: .contextSpecific) }

    private static func children(of node: ASN1Node, tag: ASN1Identifier) throws(WireError) -> [ASN1Node] {
        guard node.identifier == tag, case .constructed(let nodes) = node.content else {
            throw WireError(.malformed, "The PKCS#7 message is not of the expected form.")
        }
        return Array(nodes.prefix(64))
    }

    /// The message in DER.
    package func serialized() throws(WireError) -> [UInt8] {
        do {
            var serializer = DER.Serializer()
            try serializer.appendConstructedNode(identifier: .sequence) { info in
                try info.serialize(ObjectIdentifiers.signedData)
                try info.appendConstructedNode(identifier: Self.contextZero) { try appendSignedData(to: &$0) }
            }
            return serializer.serializedBytes
        } catch {
            throw WireError(.malformed, "The certificates have no form in PKCS#7.", underlying: error)
        }
    }

    private func appendSignedData(to serializer: inout DER.Serializer) throws {
        try serializer.appendConstructedNode(identifier: .sequence) { signed in
            try signed.serialize(1)
            signed.appendConstructedNode(identifier: .set) { _ in }
            try signed.appendConstructedNode(identifier: .sequence) { try $0.serialize(ObjectIdentifiers.data) }
            signed.appendConstructedNode(identifier: Self.contextZero) { bag in
                for certificate in certificates { bag.serializeRawBytes(certificate) }
            }
            signed.appendConstructedNode(identifier: .set) { _ in }
        }
    }
}

/// DER as the body of an EST message: base64 in lines (RFC 7030 §4, RFC 8951 §3).
package enum ESTBody {
    package static func encode(_ der: [UInt8]) -> String {
        let text = Array(Base64.encode(der).utf8)
        let lines = stride(from: 0, to: text.count, by: 64).map { start in
            String(decoding: text[start..<min(start + 64, text.count)], as: UTF8.self)
        }
        return lines.joined(separator: "\r\n") + "\r\n"
    }

    /// At most 64 KiB.
    package static func decode(_ body: [UInt8]) throws(WireError) -> [UInt8] {
        guard body.count <= CertificateBag.maximumLength else {
            throw WireError(.tooLarge, "An EST body has at most \(CertificateBag.maximumLength) bytes.")
        }
        return try Base64.decode(body, ignoringWhiteSpace: true)
    }
}
