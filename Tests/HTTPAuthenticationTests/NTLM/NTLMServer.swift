import FoundationEssentials
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading

@testable import SallyportHTTPAuthentication

/// A server with NTLM, as the last stage of a chain, with connections that are only numbers. What it verifies it
/// verifies with the module's own code; pyspnego does so with another.
final class NTLMServer: LoadStage {
    struct Settings {
        var passwords = ["ann": "secret"]
        /// The challenges of an answer without a message.
        var offers = ["NTLM"]
        /// What is said to the first message in place of a challenge.
        var token: String?
        /// Whether each last message is answered with the challenge of another one.
        var isEndless = false
        var proxyOffers: [String] = []
        /// Answered without the network, as by a cache.
        var cached: Set<String> = []
    }

    struct Seen: Equatable {
        var connection: UInt64?
        var leg = 0
        var length = 0
        var status = 0
    }

    fileprivate struct State {
        var settings = Settings()
        var seen: [Seen] = []
        var numbers: [UInt64: UInt64] = [:]
        var users: [UInt64: String] = [:]
        var count: UInt64 = 0
        var closed: [UInt64] = []
    }

    private let state = Lock(State())
    private static let nonce = [UInt8](repeating: 3, count: 8)

    init(_ change: (inout Settings) -> Void = { _ in }) { state.withLock { change(&$0.settings) } }

    var seen: [Seen] { state.withLock { $0.seen } }
    /// The connections that their owners closed.
    var closed: [UInt64] { state.withLock { $0.closed } }
    func change(_ change: (inout Settings) -> Void) { state.withLock { change(&$0.settings) } }
    /// All connections are gone.
    func restart() { state.withLock { $0.numbers = [:] } }

    static var challenge: [UInt8] {
        var bytes = NTLMMessage.signature + UInt32(2).littleEndianBytes
        bytes += NTLMMessage.descriptor(0, at: 48) + NTLMFlags.offered.union(.targetInfo).rawValue.littleEndianBytes
        bytes += nonce + [UInt8](repeating: 0, count: 8)
        return bytes + NTLMMessage.descriptor(4, at: 48) + [0, 0, 0, 0]
    }

    func load(
        _ request: LoadRequest, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        if state.withLock({ $0.settings.cached.contains(request.url.path) }) {
            return LoadResponse(head: HTTPResponse(status: .ok), url: request.url, body: ResponseBody())
        }
        var request = request
        await context.signer?.sign(&request.headerFields)
        let sent = request
        let use = context.connection
        if let use {
            let owner = use.connection.number
            use.connection.closes { [state] in
                state.withLock { state in
                    if let number = state.numbers[owner] { state.closed.append(number) }
                }
            }
        }
        let result: (HTTPResponse, UInt64?)? = state.withLock { $0.answer(sent, use) }
        guard let (head, number) = result else {
            throw LoadError(.connectionLost, at: .request, "gone", underlying: BoundConnectionLost())
        }
        var response = LoadResponse(head: head, url: request.url, body: ResponseBody())
        var hop = HopFacts(url: request.url)
        hop.connection.number = number
        hop.connection.proxy = context.proxies.proxy(for: request.url).map { "\($0)" }
        response.facts.hops = [hop]
        return try await context.signer?.examined(response) ?? response
    }
}

extension NTLMServer.State {
    /// Nil where the connection is gone.
    fileprivate mutating func answer(_ request: LoadRequest, _ use: ConnectionUse?) -> (HTTPResponse, UInt64?)? {
        var number: UInt64?
        if let use {
            if let required = use.required, numbers[use.connection.number] != required { return nil }
            if numbers[use.connection.number] == nil {
                count += 1
                numbers[use.connection.number] = count
            }
            number = numbers[use.connection.number]
        }
        let length: Int = if case .bytes(let bytes)? = request.body?.source { bytes.count } else { 0 }
        var seen = NTLMServer.Seen(connection: number, length: length)
        let head = head(request, number, &seen)
        seen.status = head.status.code
        self.seen.append(seen)
        return (head, number)
    }

    private mutating func head(_ request: LoadRequest, _ number: UInt64?, _ seen: inout NTLMServer.Seen) -> HTTPResponse
    {
        if !settings.proxyOffers.isEmpty {
            return asking(.proxyAuthenticationRequired, .proxyAuthenticate, settings.proxyOffers)
        }
        if request.url.path == "/open" { return HTTPResponse(status: .ok) }
        let field = request.headerFields[.authorization] ?? ""
        if field.hasPrefix("Basic ") { return HTTPResponse(status: .ok) }
        let message = field.hasPrefix("NTLM ") ? NTLMToken.bytes(String(field.dropFirst(5))) : nil
        guard let message, let number else {
            let isKnown = number.map { users[$0] != nil } == true
            return isKnown ? HTTPResponse(status: .ok) : asking(.unauthorized, .wwwAuthenticate, settings.offers)
        }
        seen.leg = Int(message[8])
        users[number] = nil
        if seen.leg == 1 || settings.isEndless {
            let token = settings.token ?? Data(NTLMServer.challenge).base64EncodedString()
            return asking(.unauthorized, .wwwAuthenticate, ["NTLM \(token)"])
        }
        guard let user = verified(message) else { return asking(.unauthorized, .wwwAuthenticate, settings.offers) }
        users[number] = user
        return HTTPResponse(status: .ok)
    }

    private func verified(_ message: [UInt8]) -> String? {
        for (name, password) in settings.passwords {
            let key = NTLMHash.v2(password: password, user: name, domain: "")
            guard let range = NTLMMessage.field(message, at: 20, behind: 88) else { return nil }
            let proof = message[range]
            if Array(proof.prefix(16)) == NTLMHash.code([UInt8](repeating: 3, count: 8) + proof.dropFirst(16), key) {
                return name
            }
        }
        return nil
    }

    private func asking(
        _ status: HTTPResponse.Status, _ name: HTTPField.Name, _ offers: [String]
    ) -> HTTPResponse {
        var head = HTTPResponse(status: status)
        for offer in offers { head.headerFields.append(.init(name: name, value: offer)) }
        return head
    }
}
