internal import Crypto
internal import SallyportBase

/// The responses to a server's challenge (MS-NLMP §3.3): both fields of the last message.
package struct NTLMResponse: Sendable, Hashable {
    package var lm: [UInt8]
    package var nt: [UInt8]
    /// The key for the code over the messages: the session base key, since no key is exchanged (§3.4.5.1). Nil if there
    /// is no code.
    var key: [UInt8]?

    /// NTLMv2 (§3.3.2).
    ///
    /// - Parameters:
    ///   - key: ``NTLMHash/v2(password:user:domain:)``.
    ///   - nonce: 8 bytes chosen by the client.
    ///   - time: tenths of a microsecond since 1601.
    ///   - hasServerTime: whether the server sent its time and so knows the integrity code, which then replaces the LM
    ///     response.
    static func v2(
        _ key: [UInt8], answering challenge: [UInt8], nonce: [UInt8], time: UInt64, targetInfo: [UInt8],
        hasServerTime: Bool
    ) -> NTLMResponse {
        let zeros = [UInt8](repeating: 0, count: 4)
        let blob = [1, 1, 0, 0] + zeros + time.littleEndianBytes + nonce + zeros + targetInfo + zeros
        let proof = NTLMHash.code(challenge + blob, key)
        let lm =
            hasServerTime
            ? [UInt8](repeating: 0, count: 24) : NTLMHash.code(challenge + nonce, key) + nonce
        return NTLMResponse(lm: lm, nt: proof + blob, key: NTLMHash.code(proof, key))
    }

    /// NTLM2 session (§3.3.1, with extended session security): NTLMv1 for a challenge made by both sides.
    static func session2(_ hash: [UInt8], answering challenge: [UInt8], nonce: [UInt8]) -> NTLMResponse {
        let both = Array(Insecure.MD5.hash(data: challenge + nonce).prefix(8))
        return NTLMResponse(
            lm: nonce + [UInt8](repeating: 0, count: 16), nt: NTLMHash.desLong(hash, both))
    }

    /// NTLMv1 (§3.3.1). The LM response repeats the NT response: the LM hash, which uses capital letters only, is never
    /// sent.
    static func v1(_ hash: [UInt8], answering challenge: [UInt8]) -> NTLMResponse {
        let response = NTLMHash.desLong(hash, challenge)
        return NTLMResponse(lm: response, nt: response)
    }
}

/// The hashes of a password.
enum NTLMHash {
    /// `NTOWFv1`: can be used in place of the password.
    static func v1(password: String) -> [UInt8] { MD4.hash(NTLMText.bytes(password)) }

    /// `NTOWFv2`.
    static func v2(password: String, user: String, domain: String) -> [UInt8] {
        code(NTLMText.bytes(NTLMText.uppercased(user)) + NTLMText.bytes(domain), v1(password: password))
    }

    /// `DESL`: the block under three keys, 16 bytes long together and filled up with zeros.
    static func desLong(_ key: [UInt8], _ block: [UInt8]) -> [UInt8] {
        let filled = key + [UInt8](repeating: 0, count: 5)
        return stride(from: 0, to: 21, by: 7).flatMap { DES(bits: filled[$0..<$0 + 7]).encrypt(block) }
    }

    /// HMAC-MD5.
    static func code(_ bytes: [UInt8], _ key: [UInt8]) -> [UInt8] {
        Array(HMAC<Insecure.MD5>.authenticationCode(for: bytes, using: SymmetricKey(data: key)))
    }
}
