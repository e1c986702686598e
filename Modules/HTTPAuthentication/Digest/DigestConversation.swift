internal import SallyportBase
package import SallyportCore

/// The state of one Digest protection space between challenges. Without I/O, clock and randomness.
package struct DigestConversation: Sendable {
    package private(set) var challenge: DigestChallenge
    private var nonces: NonceBook
    /// H(user:realm:password) of the last user, who is usually the user of the next requests too, and H(user:realm) if
    /// the server requests hashed user names (§3.4.4).
    private var base: (credential: Credential, key: [UInt8], name: [UInt8]?)?
    /// The key of a `-sess` algorithm: made with the first request after a challenge, and kept with the nonce that the
    /// client chose then (RFC 7616 §3.4.2).
    private var session: (key: [UInt8], clientNonce: String)?

    package init(_ challenge: DigestChallenge) {
        self.challenge = challenge
        nonces = NonceBook(challenge.nonce)
    }

    /// The server sent another challenge.
    package mutating func challenged(by challenge: DigestChallenge) {
        let isSameKey =
            challenge.realm == self.challenge.realm && challenge.algorithm.function == self.challenge.algorithm.function
            && challenge.hashesUser == self.challenge.hashesUser
        if !isSameKey { base = nil }
        session = nil
        self.challenge = challenge
        nonces.change(to: challenge.nonce)
    }

    /// The server named the next nonce (§3.5).
    mutating func informed(of nonce: String) { nonces.change(to: nonce) }

    /// The same, from the fields of an answer whose proof was checked.
    package mutating func learn(from fields: [String]) {
        if let nonce = AuthenticationInfo(fields).nextNonce { informed(of: nonce) }
    }

    /// - Parameter clientNonce: random and unique for each request; not needed if the session has one.
    /// - Returns: nil if all counts of the nonce were used, and if the hash of a body is missing.
    package mutating func proof(
        of message: DigestMessage, for credential: Credential, clientNonce: String
    ) -> (proof: DigestProof, field: String)? {
        let challenge = challenge
        guard challenge.protection != .authInt || message.bodyHash != nil, let count = nonces.take() else { return nil }
        let (key, clientNonce) = key(of: credential, clientNonce)
        let proof = DigestProof(
            algorithm: challenge.algorithm, key: key, nonce: nonces.current,
            count: Hexadecimal.digits(of: count.bigEndianBytes),
            clientNonce: clientNonce, protection: challenge.protection, message: message)
        return (proof, proof.field(of: credential.user, hashed: base?.name, answering: challenge))
    }

    /// H(A1) (§3.4.2), and the client nonce that belongs to it.
    private mutating func key(of credential: Credential, _ clientNonce: String) -> (key: [UInt8], clientNonce: String) {
        let function = challenge.algorithm.function
        if base?.credential != credential {
            let parts = [credential.user, challenge.realm, credential.password.reveal()].map { Array($0.utf8) }
            let name = challenge.hashesUser ? function.hash(parts[0], parts[1]) : nil
            base = (credential, function.hash(parts[0], parts[1], parts[2]), name)
            session = nil
        }
        let key = base?.key ?? []
        guard challenge.algorithm.isSession else { return (key, clientNonce) }
        let session = session ?? (function.hash(key, Array(nonces.current.utf8), Array(clientNonce.utf8)), clientNonce)
        self.session = session
        return session
    }
}
