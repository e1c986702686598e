internal import SallyportEventLoop

/// Observes the machine's links, addresses and routes on an event loop. Used on that loop only.
final class NetworkMonitor: DescriptorHandler {
    /// How long after the first notification of a change the state is requested: changes come in groups.
    private static let pause = Duration.milliseconds(20)
    /// The same if there are more routes than are kept, since reading them takes long.
    private static let longPause = Duration.seconds(5)
    /// How long the kernel may take for each part of an answer, which it normally gives at once.
    private static let patience = Duration.seconds(10)
    /// How many datagrams are read in one turn.
    private static let portion = 64

    private let loop: EventLoop
    private let onChange: (NetworkState) -> Void
    private var socket: NetlinkSocket?
    private var conversation: NetlinkConversation
    private var told: NetworkState?
    private lazy var timer = LoopTimer { [weak self] in self?.ask() }
    private lazy var answerTimer = LoopTimer { [weak self] in self?.answerIsDue() }

    /// Nil if the kernel sends no notifications here.
    ///
    /// - Parameter onChange: called on the loop with the first state and each other one, until ``stop()``.
    init?(on loop: EventLoop, onChange: @escaping (NetworkState) -> Void) {
        guard let socket = NetlinkSocket.open() else { return nil }
        self.loop = loop
        self.onChange = onChange
        conversation = NetlinkConversation(port: socket.port) { link in
            var facts = InterfaceFacts(hardware: link.hardware, made: link.kind)
            Sysfs.describe(link.name, link.index, &facts)
            return facts
        }
        self.socket = consume socket
    }

    func start() {
        guard let descriptor = socket?.descriptor else { return }
        loop.watch(descriptor, for: .read, handler: self)
        ask()
    }

    /// Idempotent.
    func stop() {
        guard let descriptor = socket?.descriptor else { return }
        loop.set(timer, at: nil)
        loop.set(answerTimer, at: nil)
        loop.forget(descriptor)
        socket = nil
    }

    private func ask() { perform(conversation.begin()) }

    private func answerIsDue() {
        perform(conversation.answerIsDue())
        if conversation.isAsking { awaitAnswer() }
    }

    private func awaitAnswer() { loop.set(answerTimer, at: .now.advanced(by: Self.patience)) }

    func descriptorIsReady(_ descriptor: Int32, _ readiness: Interest) {
        for _ in 0..<Self.portion {
            switch socket?.receive() {
            case .datagram(let bytes, let sender)?: perform(conversation.received(bytes, from: sender))
            case .lost?: perform(conversation.lost())
            case .nothing?, nil: return
            }
        }
    }

    private func perform(_ actions: [NetlinkConversation.Action]) {
        for action in actions {
            switch action {
            case .ask(let question, let sequence):
                if socket?.ask(question, sequence: sequence) == true {
                    awaitAnswer()
                    continue
                }
                _ = conversation.lost()
                loop.set(timer, at: .now.advanced(by: Self.longPause))
            case .askSoon:
                let pause = told?.isTruncated == true ? Self.longPause : Self.pause
                loop.set(timer, at: .now.advanced(by: pause))
            case .tell(let state):
                guard state != told else { continue }
                told = state
                onChange(state)
            }
        }
    }
}
