import FoundationEssentials
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading

/// A server with Basic and the realm `r`, as the last stage of a chain.
final class StubServer: LoadStage {
    private struct State {
        var passwords = ["ann": "secret"]
        var offers = ["Basic realm=\"r\""]
        var seen: [String?] = []
        var discards = 0
    }

    private let state = Lock(State())

    /// The `Authorization` fields of all requests.
    var seen: [String?] { state.withLock { $0.seen } }
    var discards: Int { state.withLock { $0.discards } }

    var offers: [String] {
        get { state.withLock { $0.offers } }
        set { state.withLock { $0.offers = newValue } }
    }

    var password: String {
        get { state.withLock { $0.passwords["ann"] ?? "" } }
        set { state.withLock { $0.passwords["ann"] = newValue } }
    }

    func set(_ password: String, of user: String) { state.withLock { $0.passwords[user] = password } }

    /// The users, in the order of the requests.
    var users: [String?] { seen.map { $0.flatMap(Self.credentials)?.user } }

    func load(
        _ request: LoadRequest, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        let field = request.headerFields[.authorization]
        let credentials = field.flatMap(Self.credentials)
        let (isGood, offers) = state.withLock { state in
            state.seen.append(field)
            let isGood = credentials.map { state.passwords[$0.user] == $0.password } ?? false
            return (isGood, state.offers)
        }
        var head = HTTPResponse(status: isGood ? .ok : .unauthorized)
        if !isGood { for offer in offers { head.headerFields.append(.init(name: .wwwAuthenticate, value: offer)) } }
        return LoadResponse(head: head, url: request.url, body: ResponseBody(Source(server: self)))
    }

    private static func credentials(_ field: String) -> (user: String, password: String)? {
        guard field.hasPrefix("Basic "), let bytes = Data(base64Encoded: String(field.dropFirst(6))) else {
            return nil
        }
        let parts = String(decoding: bytes, as: UTF8.self).split(separator: ":", maxSplits: 1)
        return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
    }

    private struct Source: BodySource {
        let server: StubServer
        func next() async throws(LoadError) -> [UInt8]? { nil }
        func discard() { server.state.withLock { $0.discards += 1 } }
    }
}

/// Answers in the order of a list, the last one again and again; and keeps what it was asked.
final class StubResponder: ChallengeResponder {
    private let asked = Lock<[AuthenticationChallenge]>([])
    private let answer: @Sendable (Int) async -> ChallengeDisposition

    init(_ answer: @escaping @Sendable (Int) async -> ChallengeDisposition) { self.answer = answer }

    convenience init(_ answers: [ChallengeDisposition]) { self.init { answers[min($0, answers.count - 1)] } }

    var challenges: [AuthenticationChallenge] { asked.withLock { $0 } }

    func respond(to challenge: AuthenticationChallenge) async -> ChallengeDisposition {
        let number = asked.withLock { asked in
            asked.append(challenge)
            return asked.count - 1
        }
        return await answer(number)
    }
}
