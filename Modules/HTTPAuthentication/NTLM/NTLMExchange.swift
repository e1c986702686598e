internal import Crypto
internal import SallyportBase
package import SallyportCore
package import SallyportLoading

/// The three messages of one authentication (MS-NLMP §3.1.5.2). Without I/O, clock and randomness.
package struct NTLMExchange: Sendable {
    /// Which versions are answered.
    package enum Versions: Sendable, Hashable {
        case v2
        /// Also NTLMv1 and NTLM2 session, to servers without target information, which may know no other version. An
        /// attacker on the network path can make any server look like that.
        case all
    }

    private let user: NTLMUser
    private let password: Redacted<String>
    private let targetName: String
    private let versions: Versions

    /// - Parameter host: the server's name, for the service name `HTTP/host`.
    /// - Throws: ``LoadError/Code/invalidRequest`` for a user name that NTLM cannot represent.
    package init(_ credential: Credential, to host: String, _ versions: Versions = .v2) throws(LoadError) {
        guard let user = NTLMUser(credential.user), credential.password.reveal().utf16.count <= NTLMUser.longest else {
            throw LoadError(
                .invalidRequest, at: .request,
                "NTLM allows no empty name, no control character in one, and nothing above \(NTLMUser.longest) units.")
        }
        self.user = user
        password = credential.password
        targetName = "HTTP/\(host)"
        self.versions = versions
    }

    /// The first message, the same for all users.
    package static var negotiate: [UInt8] { NTLMMessage.negotiate }

    /// The last message; nil if `message` is not a challenge that can be answered.
    ///
    /// - Parameters:
    ///   - message: the server's challenge.
    ///   - binding: the binding to the connection with the server, if it uses TLS.
    ///   - nonce: 8 unpredictable bytes.
    ///   - time: tenths of a microsecond since 1601; used if the server does not send its time.
    package func authenticate(
        answering message: [UInt8], binding: ChannelBinding?, nonce: [UInt8], time: UInt64
    ) -> [UInt8]? {
        guard let challenge = NTLMChallenge(message) else { return nil }
        guard challenge.targetInfo != nil || versions == .v2 else {
            let hash = NTLMHash.v1(password: password.reveal())
            let isExtended = challenge.flags.contains(.extendedSessionSecurity)
            return last(
                challenge,
                isExtended
                    ? .session2(hash, answering: challenge.nonce, nonce: nonce)
                    : .v1(hash, answering: challenge.nonce)
            ).bytes
        }
        let key = NTLMHash.v2(password: password.reveal(), user: user.name, domain: user.domain)
        let serverTime = challenge.targetInfo?[TargetInfo.Kind.timestamp].map { UInt64(littleEndianBytes: $0) }
        let response = NTLMResponse.v2(
            key, answering: challenge.nonce, nonce: nonce, time: serverTime ?? time,
            targetInfo: targetInfo(challenge.targetInfo ?? TargetInfo(), binding).bytes,
            hasServerTime: serverTime != nil)
        return covered(last(challenge, response), answering: message)
    }

    /// The server's pairs, which the proof then covers, and the client's additions (§3.1.5.1.2).
    private func targetInfo(_ server: TargetInfo, _ binding: ChannelBinding?) -> TargetInfo {
        var information = server
        let flags = server[TargetInfo.Kind.flags].map { LittleEndian.word($0, at: 0) } ?? 0
        // The last message has a code over all three.
        information[TargetInfo.Kind.flags] = (flags | 2).littleEndianBytes
        information[TargetInfo.Kind.channelBinding] =
            binding.map { Array(Insecure.MD5.hash(data: $0.structure)) } ?? [UInt8](repeating: 0, count: 16)
        information[TargetInfo.Kind.targetName] = NTLMText.bytes(targetName)
        return information
    }

    private func last(_ challenge: NTLMChallenge, _ response: NTLMResponse) -> NTLMAuthenticate {
        NTLMAuthenticate(
            flags: challenge.flags.intersection(NTLMFlags.offered.union(.targetInfo)),
            domain: NTLMText.bytes(user.domain), user: NTLMText.bytes(user.name), response: response,
            hasIntegrityCode: response.key != nil)
    }

    /// With a code over all three messages (§3.1.5.1.2), so that an attacker cannot change what was negotiated.
    private func covered(_ message: NTLMAuthenticate, answering challenge: [UInt8]) -> [UInt8] {
        var bytes = message.bytes
        guard let key = message.response.key else { return bytes }
        let code = NTLMHash.code(NTLMMessage.negotiate + challenge + bytes, key)
        let offset = NTLMAuthenticate.integrityCodeOffset
        bytes.replaceSubrange(offset..<offset + code.count, with: code)
        return bytes
    }
}
