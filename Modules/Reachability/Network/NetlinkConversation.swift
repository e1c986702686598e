internal import SallyportCore

/// What is said on a routing socket: the whole state is asked for, and again after each word that something changed, so
/// that nothing has to be added up, and a word that was lost costs nothing.
struct NetlinkConversation: Sendable {
    enum Action: Sendable, Hashable {
        case ask(NetlinkMessage.Question, sequence: UInt32)
        case tell(NetworkState)
        /// Ask again soon; changes come in groups.
        case askSoon
    }

    private let port: UInt32
    private let describe: @Sendable (NetlinkMessage.Link) -> InterfaceFacts
    private var sequence: UInt32 = 0
    private var question: NetlinkMessage.Question?
    private var state = NetworkState()
    /// Something changed, or was lost, since the state was asked for.
    private var isStale = false

    /// - Parameters:
    ///   - port: of the socket.
    ///   - describe: what else is known of an interface.
    init(port: UInt32, describe: @escaping @Sendable (NetlinkMessage.Link) -> InterfaceFacts) {
        self.port = port
        self.describe = describe
    }

    /// Asks for everything, unless that is under way.
    mutating func begin() -> [Action] {
        guard question == nil else { return [] }
        state = NetworkState()
        isStale = false
        return ask(.links)
    }

    private mutating func ask(_ next: NetlinkMessage.Question) -> [Action] {
        sequence &+= 1
        question = next
        return [.ask(next, sequence: sequence)]
    }

    /// A datagram came.
    ///
    /// - Parameter sender: the port that sent it. Any process may send; only the kernel, port 0, is believed.
    mutating func received(_ octets: [UInt8], from sender: UInt32) -> [Action] {
        guard sender == 0 else { return [] }
        guard let messages = NetlinkMessage.messages(in: octets) else { return lost() }
        return messages.flatMap { take($0) }
    }

    /// The kernel had more to say than there was room for, or a question could not be put.
    mutating func lost() -> [Action] {
        let isAskedSoon = question == nil && isStale
        question = nil
        isStale = true
        return isAskedSoon ? [] : [.askSoon]
    }

    /// Something changed. While the state is told, it is asked for once more at the end.
    private mutating func changed() -> [Action] {
        defer { isStale = true }
        return isStale || question != nil ? [] : [.askSoon]
    }

    private mutating func take(_ message: NetlinkMessage) -> [Action] {
        let isAnswer = question != nil && message.sequence == sequence && message.port == port
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
            // What changed meanwhile may be half in it: what is told is told again at once.
            return [.tell(state)] + (isStale ? [.askSoon] : [])
        }
    }
}
