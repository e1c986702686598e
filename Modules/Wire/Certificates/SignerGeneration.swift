internal import SwiftASN1

/// The generation of a signer of configurations: an extension of its certificate, so that it is set by the authority
/// and not by the signer.
///
/// A revocation begins the next generation. Clients refuse signers of a lower generation than the one last in force.
package enum SignerGeneration {
    /// DER.
    package static func encode(_ generation: Int64) throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.serialize(generation)
        return serializer.serializedBytes
    }

    /// Nil unless it is a whole number from 1 to 2^53.
    package static func decode(_ der: ArraySlice<UInt8>) -> Int64? {
        guard let generation = try? Int64(derEncoded: der), 1...(1 << 53) ~= generation else { return nil }
        return generation
    }
}
