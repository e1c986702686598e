import Crypto
import CryptoExtras
import Foundation
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading

@testable import SallyportHTTPAuthentication

/// A server with Digest, as the last stage of a chain: it checks proofs by a code of its own, and takes no count twice.
final class DigestServer: LoadStage {
    struct Settings {
        var algorithms = ["SHA-256"]
        var qop: String? = "auth"
        /// Parameters behind the others.
        var more = ""
        var passwords = ["ann": "secret"]
        /// After so many requests a nonce is too old.
        var lifetime = Int.max
        var namesNextNonce = false
        /// All nonces are this one.
        var nonce: String?
        /// What `rspauth` is made with; none where nil.
        var vouching: String?
        var vouchedQOP: String?
        var body: [UInt8] = []
        var isAlwaysStale = false
        /// Challenges before those of Digest.
        var offersBefore: [String] = []
        var offersAfter: [String] = []
        /// Answered without the network, as by a cache.
        var cached: Set<String> = []
    }

    struct Seen {
        var path: String
        var user: String?
        var count: String?
        var nonce: String?
        var isGood = false
    }

    fileprivate struct State {
        var settings: Settings
        var uses: [String: Int] = [:]
        var counts: Set<String> = []
        var seen: [Seen] = []
        var number = 0
    }

    private let state: Lock<State>

    init(_ change: (inout Settings) -> Void = { _ in }) {
        var settings = Settings()
        change(&settings)
        state = Lock(State(settings: settings))
    }

    var seen: [Seen] { state.withLock { $0.seen } }
    func change(_ change: (inout Settings) -> Void) { state.withLock { change(&$0.settings) } }

    func load(
        _ request: LoadRequest, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        if state.withLock({ $0.settings.cached.contains(request.url.path) }) {
            return LoadResponse(head: HTTPResponse(status: .ok), url: request.url, body: ResponseBody())
        }
        var request = request
        await context.signer?.sign(&request.headerFields)
        let body: [UInt8]? = if case .bytes(let bytes)? = request.body?.source { bytes } else { nil }
        let sent = request
        let (head, bytes) = state.withLock { $0.answer(sent, body ?? []) }
        let response = LoadResponse(head: head, url: request.url, body: ResponseBody(bytes))
        return try await context.signer?.examined(response) ?? response
    }

    static func hash(_ algorithm: String, _ text: String) -> String { hash(algorithm, Array(text.utf8)) }

    static func hash(_ algorithm: String, _ bytes: [UInt8]) -> String {
        func text(_ digest: some Sequence<UInt8>) -> String { digest.map { String(format: "%02x", $0) }.joined() }
        return switch algorithm.split(separator: "-sess")[0] {
        case "MD5": text(Insecure.MD5.hash(data: bytes))
        case "SHA-256": text(SHA256.hash(data: bytes))
        default: text(SHA512256.hash(data: bytes))
        }
    }

    /// H(A1) by RFC 7616 §3.4.2.
    static func key(_ algorithm: String, _ user: String, _ password: String, _ said: [String: String]) -> String {
        let key = hash(algorithm, "\(user):\(said["realm"] ?? ""):\(password)")
        guard algorithm.hasSuffix("-sess") else { return key }
        return hash(algorithm, "\(key):\(said["nonce"] ?? ""):\(said["cnonce"] ?? "")")
    }

    /// `method` is empty for `rspauth`.
    static func response(
        _ algorithm: String, key: String, _ said: [String: String], method: String, qop: String?, body: [UInt8]
    ) -> String {
        let bodyHash = qop == "auth-int" ? ":" + hash(algorithm, body) : ""
        let second = hash(algorithm, "\(method):\(said["uri"] ?? "")" + bodyHash)
        let middle = qop.map { ":\(said["nc"] ?? ""):\(said["cnonce"] ?? ""):\($0)" } ?? ""
        return hash(algorithm, "\(key):\(said["nonce"] ?? "")\(middle):\(second)")
    }
}

extension DigestServer.State {
    fileprivate mutating func answer(_ request: LoadRequest, _ body: [UInt8]) -> (HTTPResponse, [UInt8]) {
        var seen = DigestServer.Seen(path: request.url.target)
        defer { self.seen.append(seen) }
        guard let field = request.headerFields[.authorization],
            let said = ChallengeParser.parse([field]).first, said.name == "digest"
        else { return (challenge(isStale: false), []) }
        let parameters = said.parameters
        (seen.count, seen.nonce) = (parameters["nc"], parameters["nonce"])
        guard let (user, key) = user(parameters, request, body) else { return (challenge(isStale: false), []) }
        seen.user = user
        let nonce = parameters["nonce"] ?? ""
        let isFresh = uses[nonce].map { $0 < settings.lifetime } ?? false
        guard isFresh, !settings.isAlwaysStale, counts.insert("\(nonce) \(parameters["nc"] ?? "")").inserted else {
            return (challenge(isStale: true), [])
        }
        uses[nonce, default: 0] += 1
        seen.isGood = true
        return (accepted(parameters, key), settings.body)
    }

    private func user(
        _ said: [String: String], _ request: LoadRequest, _ body: [UInt8]
    ) -> (user: String, key: String)? {
        let algorithm = said["algorithm"] ?? "MD5"
        guard said["uri"] == request.url.target, settings.algorithms.contains(algorithm) else { return nil }
        for (user, password) in settings.passwords {
            let extended = said["username*"].flatMap { $0.dropFirst(7).removingPercentEncoding }
            let hashed = DigestServer.hash(algorithm, "\(user):\(said["realm"] ?? "")")
            let name = said["userhash"] == "true" ? hashed : user
            guard (said["username"] ?? extended) == name else { continue }
            let key = DigestServer.key(algorithm, user, password, said)
            let expected = DigestServer.response(
                algorithm, key: key, said, method: request.method.rawValue, qop: said["qop"], body: body)
            return said["response"] == expected ? (user, key) : nil
        }
        return nil
    }

    private mutating func newNonce() -> String {
        number += 1
        let nonce = settings.nonce ?? "nonce\(number)"
        if uses[nonce] == nil { uses[nonce] = 0 }
        return nonce
    }

    private mutating func challenge(isStale: Bool) -> HTTPResponse {
        var head = HTTPResponse(status: .unauthorized)
        let digests = settings.algorithms.map { algorithm in
            "Digest realm=\"r\", nonce=\"\(newNonce())\", algorithm=\(algorithm)"
                + (settings.qop.map { ", qop=\"\($0)\"" } ?? "") + (isStale ? ", stale=true" : "") + settings.more
        }
        for offer in settings.offersBefore + digests + settings.offersAfter {
            head.headerFields.append(.init(name: .wwwAuthenticate, value: offer))
        }
        return head
    }

    private mutating func accepted(_ said: [String: String], _ key: String) -> HTTPResponse {
        var head = HTTPResponse(status: .ok)
        var info: [String] = []
        if settings.namesNextNonce { info.append("nextnonce=\"\(newNonce())\"") }
        if let password = settings.vouching {
            let algorithm = said["algorithm"] ?? "MD5"
            let key = password == "secret" ? key : DigestServer.key(algorithm, "ann", password, said)
            let qop = settings.vouchedQOP ?? said["qop"]
            let proof = DigestServer.response(algorithm, key: key, said, method: "", qop: qop, body: Array("body".utf8))
            info.append("rspauth=\"\(proof)\", cnonce=\"\(said["cnonce"] ?? "")\", nc=\(said["nc"] ?? "")")
            if let qop { info.append("qop=\(qop)") }
        }
        if !info.isEmpty { head.headerFields[.authenticationInfo] = info.joined(separator: ", ") }
        return head
    }
}
