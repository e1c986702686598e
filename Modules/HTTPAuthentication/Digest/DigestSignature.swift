internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// The proof of one request by Digest, and the values for checking its answer.
final class DigestSignature: RequestSignature {
    private let message: DigestMessage
    private let session: DigestSession
    private let credential: Credential
    /// The proof that was sent last; another one is made each time the request is sent.
    private let made = Latest<DigestProof?>()
    private var sent: DigestProof? { made.value ?? nil }

    /// The field in which the server or the proxy answers the proof.
    private let infoField: HTTPField.Name

    init(
        _ message: DigestMessage, to kind: ProtectionSpace.Kind, by session: DigestSession, _ credential: Credential
    ) {
        infoField = kind == .proxy ? .proxyAuthenticationInfo : .authenticationInfo
        self.message = message
        self.session = session
        self.credential = credential
    }

    func make() -> Redacted<String>? {
        let made = session.proof(of: message, for: credential)
        self.made.set(made?.proof)
        return made.map { Redacted($0.field) }
    }

    var isMade: Bool { sent != nil }

    /// If the server calls the same nonce expired again, retrying would never end.
    func isOutdated(by offered: OfferedScheme) -> Bool {
        guard let challenge = DigestChallenge(offered), challenge.isStale else { return false }
        return sent?.nonce != challenge.nonce
    }

    func accepted(by response: LoadResponse, wasAsked: Bool) throws(LoadError) -> LoadResponse {
        let values = response.head.headerFields[values: infoField]
        guard let sent, !values.isEmpty else { return response }
        let info = AuthenticationInfo(values)
        let checked = try check(info, sent, response)
        if let nonce = info.nextNonce { session.informed(of: nonce) }
        return checked
    }

    /// RFC 7616 §3.5.
    private func check(
        _ info: AuthenticationInfo, _ proof: DigestProof, _ response: LoadResponse
    ) throws(LoadError) -> LoadResponse {
        guard let claimed = info.responseProof else { return response }
        let echoes =
            (info.clientNonce ?? proof.clientNonce) == proof.clientNonce
            && (info.count?.lowercased() ?? String(decoding: proof.count, as: UTF8.self)).utf8.elementsEqual(
                proof.count)
        guard echoes else { throw Self.failure }
        let claim = Array(claimed.lowercased().utf8)
        let protection = proof.protection == nil ? nil : info.protection ?? proof.protection
        guard protection == .authInt else {
            let expected = proof.serverResponse(protection: protection, bodyHash: nil)
            guard expected == claim else { throw Self.failure }
            return response
        }
        guard !isWithoutBody(response) else {
            guard proof.serverResponse(protection: .authInt, bodyHash: nil) == claim else { throw Self.failure }
            return response
        }
        var response = response
        response.facts.isProvedAtEnd = true
        response.body = ResponseBody(
            VouchedBody(response.body, function: proof.algorithm.function) { hash in
                proof.serverResponse(protection: .authInt, bodyHash: hash) == claim
            })
        return response
    }

    /// Whether the answer cannot have a body (RFC 9110 §6.4.1): its proof is then checked at once, before a cache updates a
    /// stored answer from it.
    private func isWithoutBody(_ response: LoadResponse) -> Bool {
        message.method == "HEAD" || [204, 304].contains(response.head.status.code)
    }

    static var failure: LoadError {
        LoadError(
            .serverNotAuthenticated, at: .response, "The server's own proof does not show that it knows the user.")
    }
}
