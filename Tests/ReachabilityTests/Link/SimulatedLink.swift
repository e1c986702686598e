import SallyportCore

@testable import SallyportReachability

/// A gateway behind a link, an event stream over it, and the watch that follows both, by a clock that the test turns.
///
/// Packets are lost while the path is cut; what TCP had to deliver comes with its retransmissions, 0.2 s, 0.6 s, 1.4 s and so
/// on after it was sent.
struct SimulatedLink {
    enum Event {
        /// The path is cut, or stands again, beyond the machine: the kernel tells nothing.
        case path(isUp: Bool)
        /// The machine's own link goes down or comes up: the kernel tells.
        case link(isUp: Bool)
        /// The gateway ends and starts: connections break at once.
        case gateway(isUp: Bool)
        /// Another takes the event stream.
        case displaced
    }

    struct Told: Equatable {
        var at: Duration
        var report: LinkWatch.Report
        var isReachable: Bool { if case .reachable = report.standing { true } else { false } }
    }

    private enum Item {
        case event(Event)
        case network(NetworkState)
        case heartbeat
        case word(stream: Int)
        case probeSent(UInt64)
        case probe(UInt64, isAnswered: Bool)
        case stream(opened: Int?)
    }

    static let ends = LinkWatch.Ends(local: .v4(0x0a00_0001), remote: .v4(0xc633_6407))
    private static let latency = Duration.milliseconds(40)

    private(set) var now = Duration.zero
    private(set) var told: [Told] = []
    private(set) var probes = 0
    private(set) var watch: LinkWatch
    private var queue: [(at: Duration, number: Int, item: Item)] = []
    private var number = 0
    private var isPathUp = true
    private var isLinkUp = true
    private var isGatewayUp = true
    /// The stream in use; nil where there is none.
    private var stream: Int?
    private var streams = 0
    /// When the network was cut and stood, in turn.
    private var cuts: [(at: Duration, isUp: Bool)] = []

    /// - Parameter phase: of the heartbeats, within their 2 s.
    init(phase: Duration = .zero) {
        // The longest pauses that the actor makes.
        watch = LinkWatch(at: .zero) { $0 * 1.2 }
        add(.network(Self.network(isUp: true)), after: .zero)
        add(.stream(opened: 0), after: .milliseconds(100))
        add(.heartbeat, after: .milliseconds(200) + phase)
    }

    static func network(isUp: Bool) -> NetworkState {
        let network = TestNetwork()
        network.link(2, "eth0", isRunning: isUp).address(2, "10.0.0.1").route("0.0.0.0", 0, by: 2)
        return network.state
    }

    mutating func add(_ event: Event, at instant: Duration) { add(.event(event), after: instant - now) }

    private mutating func add(_ item: Item, after delay: Duration) {
        number += 1
        queue.append((now + delay, number, item))
    }

    private var isCut: Bool { !isPathUp || !isLinkUp }

    mutating func run(until end: Duration) {
        while true {
            let next = queue.min { ($0.at, $0.number) < ($1.at, $1.number) }
            let due = watch.nextInstant ?? .seconds(1_000_000)
            guard min(next?.at ?? due, due) <= end else { break }
            if let next, next.at <= due {
                queue.removeAll { $0.number == next.number }
                now = max(now, next.at)
                take(next.item)
            } else {
                now = max(now, due)
                perform(watch.timeCame(at: now))
            }
        }
        now = end
    }

    private mutating func take(_ item: Item) {
        switch item {
        case .event(let event): take(event)
        case .network(let state): perform(watch.networkChanged(state, at: now))
        case .heartbeat:
            add(.heartbeat, after: .seconds(2))
            if let stream, isGatewayUp { deliver(stream) }
        case .word(let number): if number == stream { perform(watch.streamSpoke(at: now)) }
        case .probeSent(let number): send(number)
        case .probe(let number, true): perform(watch.probeAnswered(number, Self.ends, at: now))
        case .probe(let number, false): perform(watch.probeFailed(number, at: now))
        case .stream(let opened): open(opened)
        }
    }

    private mutating func take(_ event: Event) {
        switch event {
        case .path(let isUp): isPathUp = isUp
        case .link(let isUp):
            isLinkUp = isUp
            add(.network(Self.network(isUp: isUp)), after: .milliseconds(25))
        case .gateway(let isUp):
            isGatewayUp = isUp
            guard !isUp, stream != nil else { return }
            stream = nil
            if !isCut { perform(watch.streamEnded(at: now)) }
        case .displaced:
            stream = nil
            perform(watch.streamDisplaced(at: now))
        }
        cuts.append((now, !isCut))
    }

    /// When what is sent at an instant arrives: at the first retransmission that finds the path standing.
    private func arrival(sentAt sent: Duration, first: Duration) -> Duration? {
        var (at, pause) = (sent, first)
        for _ in 0..<6 {
            if wouldPass(at) { return at + Self.latency }
            at += pause
            pause *= 2
        }
        return nil
    }

    /// Cuts that are still to come are in the queue.
    private func wouldPass(_ instant: Duration) -> Bool {
        var (path, link, gateway) = (isPathUp, isLinkUp, isGatewayUp)
        for entry in queue.sorted(by: { ($0.at, $0.number) < ($1.at, $1.number) }) where entry.at <= instant {
            switch entry.item {
            case .event(.path(let isUp)): path = isUp
            case .event(.link(let isUp)): link = isUp
            case .event(.gateway(let isUp)): gateway = isUp
            default: continue
            }
        }
        return path && link && gateway
    }

    private mutating func deliver(_ stream: Int) {
        if let at = arrival(sentAt: now, first: .milliseconds(200)) { add(.word(stream: stream), after: at - now) }
    }

    private mutating func send(_ number: UInt64) {
        guard isGatewayUp || isCut else { return add(.probe(number, isAnswered: false), after: Self.latency) }
        let at = arrival(sentAt: now, first: .seconds(1))
        guard let at, at + Self.latency * 3 - now < .seconds(2) else {
            return add(.probe(number, isAnswered: false), after: .seconds(2))
        }
        add(.probe(number, isAnswered: true), after: at + Self.latency * 3 - now)
    }

    private mutating func open(_ asked: Int?) {
        guard isGatewayUp, !isCut else { return perform(watch.streamEnded(at: now)) }
        streams += 1
        stream = streams
        perform(watch.streamOpened(Self.ends, at: now))
    }

    private mutating func perform(_ actions: [LinkWatch.Action]) {
        for action in actions {
            switch action {
            case .probe(let number):
                probes += 1
                add(.probeSent(number), after: .zero)
            case .call(let drops):
                if drops, stream != nil {
                    stream = nil
                    add(.stream(opened: nil), after: Self.latency * 4)
                } else if stream == nil {
                    add(.stream(opened: nil), after: Self.latency * 4)
                }
            case .report(let report): told.append(Told(at: now, report: report))
            }
        }
    }
}
