internal import SallyportBase

/// `AUTHENTICATE_MESSAGE` (MS-NLMP §2.2.1.3): the client's proof.
struct NTLMAuthenticate {
    var flags: NTLMFlags
    var domain: [UInt8]
    var user: [UInt8]
    /// Empty, so that an eavesdropper does not learn this machine's name.
    var workstation: [UInt8] = []
    var response: NTLMResponse
    /// The key for signing and sealing; empty, since neither is used.
    var sessionKey: [UInt8] = []
    /// 8 bytes.
    var version = [UInt8](repeating: 0, count: 8)
    /// Whether there is room for the code over all three messages.
    var hasIntegrityCode: Bool

    static let integrityCodeOffset = 72

    /// With zeros in place of the code.
    var bytes: [UInt8] {
        let head = hasIntegrityCode ? 88 : 72
        var payload: [UInt8] = []
        func descriptor(_ field: [UInt8]) -> [UInt8] {
            defer { payload += field }
            return NTLMMessage.descriptor(field.count, at: head + payload.count)
        }
        let names = [domain, user, workstation].map(descriptor)
        let proofs = [response.lm, response.nt].map(descriptor)
        let key = descriptor(sessionKey)
        var bytes = NTLMMessage.signature + UInt32(3).littleEndianBytes
        bytes += (proofs + names).flatMap { $0 } + key + flags.rawValue.littleEndianBytes + version
        if hasIntegrityCode { bytes += [UInt8](repeating: 0, count: 16) }
        return bytes + payload
    }
}
