package import SallyportCore

/// What is known of the link to the infrastructure, and what follows from it: neither clock nor I/O.
///
/// A word from the gateway proves that it is within reach: a heartbeat of its event stream, or the answer to a probe. A
/// doubt begins where words stay out, where the stream breaks, and where the way to the gateway goes away; it ends with
/// the next proof, or as a loss. Instants are counted from any start.
package struct LinkWatch: Sendable {
    /// What is told.
    package struct Report: Sendable, Hashable {
        package enum Standing: Sendable, Hashable {
            case unknown
            case unreachable
            case reachable(InterfaceKind?)
        }
        package var standing = Standing.unknown
        package var isNetworkAvailable = false
        package var isPushAvailable = false

        package init() {}
    }

    /// The event stream, as far as it matters here.
    package enum Stream: Sendable, Hashable {
        /// None was opened yet.
        case none
        case open
        case lost
        /// Another has it.
        case displaced
    }

    package enum Action: Sendable, Hashable {
        /// Ask the gateway for a word; the answer is told by the number.
        case probe(UInt64)
        /// Open the event stream now; what is left of it is given up first where it `drops`.
        case call(drops: Bool)
        case report(Report)
    }

    /// Addresses of a connection with the gateway.
    package struct Ends: Sendable, Hashable {
        package var local: IPAddress
        package var remote: IPAddress

        package init(local: IPAddress, remote: IPAddress) { (self.local, self.remote) = (local, remote) }
    }

    struct Doubt: Sendable, Hashable {
        var since: Duration
        /// When it becomes a loss.
        var end: Duration
        /// Probes from this one on were begun after the doubt.
        var firstProbe: UInt64
    }

    let times: LinkTimes
    let spread: @Sendable (Duration) -> Duration
    var network: NetworkState?
    var stream = Stream.none
    /// Of the last proof that told them.
    var ends: Ends?
    var lastProof: Duration?
    /// A proof came that was not told yet.
    var isProved = false
    var doubt: Doubt?
    /// When the lack of a network, or of the stream, is told.
    var networkLoss: Duration?
    var pushLoss: Duration?
    var eagerUntil = Duration.zero
    var nextProbe: Duration?
    /// By number, when each gives up.
    var probes: [UInt64: Duration] = [:]
    var lastNumber: UInt64 = 0
    var lastCall: Duration?
    package private(set) var told = Report()

    /// - Parameter spread: changes a pause a little, so that not all ask at once.
    package init(
        at now: Duration, times: LinkTimes = LinkTimes(), spread: @escaping @Sendable (Duration) -> Duration = { $0 }
    ) {
        self.times = times
        self.spread = spread
        // Nothing is known: what opens the stream has the time of a doubt for it.
        doubt = Doubt(since: now, end: now + times.loss, firstProbe: 1)
        nextProbe = now + times.eager
    }

    /// When ``timeCame(at:)`` is to be called at the latest.
    package var nextInstant: Duration? {
        var instants = [doubt?.end, networkLoss, pushLoss, nextProbe]
        if doubt == nil, isReachable, let lastProof { instants.append(lastProof + times.silence) }
        return instants.compactMap(\.self).min()
    }

    var isReachable: Bool { if case .reachable = told.standing { true } else { false } }

    // MARK: What becomes of it

    /// Ends each step: what is due by now, and what is told anew.
    mutating func conclude(at now: Duration) -> [Action] {
        var actions: [Action] = []
        if doubt == nil, isReachable, let lastProof, lastProof + times.silence <= now {
            begin(.init(since: now, end: lastProof + times.silentLoss, firstProbe: lastNumber + 1), at: now)
        }
        var report = told
        if isProved { report.standing = .reachable(nil) }
        isProved = false
        if let end = doubt?.end, end <= now {
            doubt = nil
            report.standing = .unreachable
            report.isPushAvailable = false
            // Nothing more comes over the connections that there are.
            if isReachable { actions.append(.call(drops: true)) }
        }
        if case .reachable = report.standing { report.standing = .reachable(kind) }
        settle(&report, at: now)
        actions += probe(at: now, isReachable: report.standing != .unreachable)
        if report != told {
            told = report
            actions.append(.report(report))
        }
        return actions
    }

    /// Of the interface by which the gateway is reached; what it was while there is a doubt, or nobody can say.
    private var kind: InterfaceKind? {
        let interface = ends.flatMap { network?.interface(having: $0.local) }
        if let interface, let kind = network?.interfaces[interface]?.kind { return kind }
        return if case .reachable(let kind) = told.standing { kind } else { nil }
    }

    mutating func begin(_ new: Doubt, at now: Duration) {
        if let doubt, doubt.end <= new.end { return }
        doubt = new
        nextProbe = min(nextProbe ?? now, now)
    }

    /// The network and the stream by themselves: their loss is told after the time of a blip, their return at once.
    private mutating func settle(_ report: inout Report, at now: Duration) {
        let isReached = if case .reachable = report.standing { true } else { false }
        let hasNetwork = network?.isAvailable ?? isReached
        if hasNetwork || isReached && doubt == nil {
            networkLoss = nil
            report.isNetworkAvailable = true
        } else if report.isNetworkAvailable {
            networkLoss = networkLoss ?? now + times.loss
            if let networkLoss, networkLoss <= now { report.isNetworkAvailable = false }
        }
        if !report.isNetworkAvailable { networkLoss = nil }
        if stream == .open, isReached {
            pushLoss = nil
            report.isPushAvailable = true
        } else if report.isPushAvailable {
            pushLoss = pushLoss ?? now + times.loss
            if let pushLoss, pushLoss <= now { report.isPushAvailable = false }
        }
        if !report.isPushAvailable { pushLoss = nil }
    }

    // MARK: Probes

    private mutating func probe(at now: Duration, isReachable: Bool) -> [Action] {
        probes = probes.filter { $0.value > now }
        let pause = pause(at: now, isReachable: isReachable)
        guard let pause else {
            nextProbe = nil
            return []
        }
        if let due = nextProbe, due > now {
            // A shorter pause counts from now on; a longer one after the next.
            nextProbe = min(due, now + pause)
            return []
        }
        nextProbe = now + pause
        guard probes.count < times.probes else { return [] }
        lastNumber += 1
        probes[lastNumber] = now + times.probe
        return [.probe(lastNumber)]
    }

    /// Nil while heartbeats say enough.
    private func pause(at now: Duration, isReachable: Bool) -> Duration? {
        if doubt != nil || now < eagerUntil { return times.eager }
        guard isReachable else { return spread(times.patient) }
        return stream == .open ? nil : times.steady
    }
}
