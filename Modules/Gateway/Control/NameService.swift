internal import NIOCore
internal import NIOPosix
internal import SallyportCore
internal import SallyportWire

/// Answers queries for names in the enterprise's DNS (RFC 8484): those that the caller's policy relays, and no others.
struct NameService: Sendable {
    /// For addresses that the administrator has set, in seconds: a change is seen after a minute at the latest.
    static let timeToLive: UInt32 = 60

    private let queries: any QueryResolver
    private let eventLoop: any EventLoop

    init(queries: any QueryResolver, on eventLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.any()) {
        self.queries = queries
        self.eventLoop = eventLoop
    }

    /// - Parameter decide: the policy's decision on a host.
    func answer(_ query: DNSMessage, by decide: (SallyportCore.Host) -> NameVerdict) async -> DNSMessage {
        guard !query.isResponse else { return DNSMessage(answering: query, code: .formatError) }
        guard let host = Self.judged(query.question) else { return DNSMessage(answering: query, code: .refused) }
        switch decide(host) {
        case .refused: return DNSMessage(answering: query, code: .refused)
        case .address(let address) where query.question.type == .a || query.question.type == .aaaa:
            return Self.answer(query, with: address)
        case .allowed, .address:
            guard let answer = try? await queries.answer(to: query, on: eventLoop).get() else {
                return DNSMessage(answering: query, code: .serverFailure)
            }
            return DNSMessage(answering: query, code: answer.code, answers: answer.answers)
        }
    }

    /// The host by whose route a question is judged: for a service (SRV), the name without its leading labels that
    /// begin with `_` (RFC 2782).
    ///
    /// Nil for a name that is not in a host's canonical spelling: it would be judged as one name here and resolved as
    /// another. Labels have no percent-encoding, and an address is not a name.
    private static func judged(_ question: DNSMessage.Question) -> SallyportCore.Host? {
        let all = question.name.labels[...]
        let text = (question.type == .srv ? all.drop { $0.hasPrefix("_") } : all).joined(separator: ".")
        guard case .name(text)? = try? SallyportCore.Host(text) else { return nil }
        return .name(text)
    }

    /// No addresses of the other family: the name has only this one.
    private static func answer(_ query: DNSMessage, with address: IPAddress) -> DNSMessage {
        let isAsked = (query.question.type == .a) == (address.bytes.count == 4)
        let record = DNSMessage.Record(query.question.name, timeToLive: timeToLive, .address(address))
        return DNSMessage(answering: query, answers: isAsked ? [record] : [])
    }
}

/// A policy's decision on a name.
enum NameVerdict: Sendable, Hashable {
    case allowed
    /// The name has this address, which the administrator has set.
    case address(IPAddress)
    case refused
}
