internal import SallyportCore

/// The exchange on a routing socket: the whole state is requested, and again after each change, so that no changes have
/// to be merged, and a lost message does no harm.
struct NetlinkConversation: Sendable {
    enum Action: Sendable, Hashable {
        case ask(NetlinkMessage.Question, sequence: UInt32)
        case tell(NetworkState)
        /// Request again soon; changes come in groups.
        case askSoon
    }

    private let port: UInt32
    private let describe: @Sendable (NetlinkMessage.Link) -> InterfaceFacts
    private var sequence: UInt32 = 0
    private var question: NetlinkMessage.Question?
    /// Whether a part of the answer has come since the question, or since ``answerIsDue()`` was called last.
    private var hasPart = false
    private var state = NetworkState()
    /// Something changed, or was lost, since the state was requested.
    private var isStale = false

    /// - Parameters:
    ///   - port: the socket's port.
    ///   - describe: adds further facts about an interface.
    init(port: UInt32, describe: @escaping @Sendable (NetlinkMessage.Link) -> InterfaceFacts) {
        self.port = port
        self.describe = describe
    }

    /// Requests everything, unless a request is in progress.
    mutating func begin() -> [Action] {
        guard question == nil else { return [] }
        state = NetworkState()
        isStale = false
        return ask(.links)
    }

    /// Whether a request is in progress.
    var isAsking: Bool { question != nil }

    private mutating func ask(_ next: NetlinkMessage.Question) -> [Action] {
        sequence &+= 1
        question = next
        hasPart = false
        return [.ask(next, sequence: sequence)]
    }

    /// A datagram arrived.
    ///
    /// - Parameter sender: the port that sent it. Any process may send; only the kernel, port 0, is believed.
    mutating func received(_ bytes: [UInt8], from sender: UInt32) -> [Action] {
        guard sender == 0 else { return [] }
        guard let messages = NetlinkMessage.messages(in: bytes) else { return lost() }
        return messages.flatMap { take($0) }
    }

    /// The kernel's messages exceeded the buffer, or a request could not be sent.
    mutating func lost() -> [Action] {
        let isAskedSoon = question == nil && isStale
        question = nil
        isStale = true
        return isAskedSoon ? [] : [.askSoon]
    }

    /// The time is over in which a part of the answer must come. A request of which nothing comes any more is given up:
    /// while it is in progress, nothing else is requested.
    mutating func answerIsDue() -> [Action] {
        guard isAsking, !hasPart else {
            hasPart = false
            return []
        }
        return lost()
    }

    /// Something changed. If a request is in progress, it is repeated once at its end.
    private mutating func changed() -> [Action] {
        defer { isStale = true }
        return isStale || question != nil ? [] : [.askSoon]
    }

    private mutating func take(_ message: NetlinkMessage) -> [Action] {
        let isAnswer = question != nil && message.sequence == sequence && message.port == port
        if isAnswer { hasPart = true }
        if isAnswer, message.isInterrupted { isStale = true }
        switch message.content {
        case .link, .address, .route:
            guard isAnswer else { return changed() }
            state.add(message.content, describe)
            return []
        case .change: return isAnswer ? [] : changed()
        case .overrun: return lost()
        case .done: return isAnswer ? answered() : []
        case .failure(let code): return isAnswer && code != 0 ? lost() : []
        case .other: return []
        }
    }

    private mutating func answered() -> [Action] {
        switch question {
        case .links: return ask(.addresses)
        case .addresses: return ask(.routes)
        case .routes, nil:
            question = nil
            // The state may contain half of a later change: it is requested again at once.
            return [.tell(state)] + (isStale ? [.askSoon] : [])
        }
    }
}
