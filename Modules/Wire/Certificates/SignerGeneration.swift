internal import SwiftASN1

/// The generation of a signer of configurations: an extension of its certificate, so that the authority says it and the
/// signer cannot.
///
/// A revocation begins the next generation. Clients refuse signers of a lower one than they have seen in force.
package enum SignerGeneration {
    /// DER.
    package static func encode(_ generation: Int64) throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.serialize(generation)
        return serializer.serializedBytes
    }

    /// Nil for what is no whole number from 1 to 2^53.
    package static func decode(_ der: ArraySlice<UInt8>) -> Int64? {
        guard let generation = try? Int64(derEncoded: der), 1...(1 << 53) ~= generation else { return nil }
        return generation
    }
}
