package import SallyportCore

/// The state of the link to the infrastructure: a state machine without clock or I/O.
///
/// A sign of life from the gateway proves that it is reachable: a heartbeat of its event stream, or the answer to a
/// probe. The link is in doubt if signs of life are missing, if the stream breaks, or if the route to the gateway
/// disappears; the doubt ends with the next proof, or becomes a loss. Instants are counted from an arbitrary start.
package struct LinkWatch: Sendable {
    /// The state that is reported.
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

    /// The state of the event stream, as far as it matters here.
    package enum Stream: Sendable, Hashable {
        /// It has not been opened yet.
        case none
        case open
        case lost
        /// Another process has it.
        case displaced
    }

    package enum Action: Sendable, Hashable {
        /// Send a probe to the gateway; its result is passed in with this number.
        case probe(UInt64)
        /// Open the event stream now; if `drops`, close the existing one first.
        case call(drops: Bool)
        case report(Report)
    }

    /// The addresses of a connection to the gateway.
    package struct Ends: Sendable, Hashable {
        package var local: IPAddress
        package var remote: IPAddress

        package init(local: IPAddress, remote: IPAddress) { (self.local, self.remote) = (local, remote) }
    }

    struct Doubt: Sendable, Hashable {
        var since: Duration
        /// When it becomes a loss.
        var end: Duration
        /// The first probe that began after the doubt.
        var firstProbe: UInt64
    }

    let times: LinkTimes
    let spread: @Sendable (Duration) -> Duration
    var network: NetworkState?
    var stream = Stream.none
    /// Of the last proof that had addresses.
    var ends: Ends?
    var lastProof: Duration?
    /// A proof has arrived that was not reported yet.
    var isProved = false
    var doubt: Doubt?
    /// When the loss of the network, or of the stream, is reported.
    var networkLoss: Duration?
    var pushLoss: Duration?
    var eagerUntil = Duration.zero
    var nextProbe: Duration?
    /// By number: when each probe times out.
    var probes: [UInt64: Duration] = [:]
    var lastNumber: UInt64 = 0
    var lastCall: Duration?
    package private(set) var told = Report()

    /// - Parameter spread: varies an interval a little, so that clients do not probe at the same time.
    package init(
        at now: Duration, times: LinkTimes = LinkTimes(), spread: @escaping @Sendable (Duration) -> Duration = { $0 }
    ) {
        self.times = times
        self.spread = spread
        // Nothing is known yet: there is as much time to open the stream as in a doubt.
        doubt = Doubt(since: now, end: now + times.loss, firstProbe: 1)
        nextProbe = now + times.eager
    }

    /// When ``timeCame(at:)`` must be called at the latest.
    package var nextInstant: Duration? {
        var instants = [doubt?.end, networkLoss, pushLoss, nextProbe]
        if doubt == nil, isReachable, let lastProof { instants.append(lastProof + times.silence) }
        return instants.compactMap(\.self).min()
    }

    var isReachable: Bool { if case .reachable = told.standing { true } else { false } }

    // MARK: Conclusions

    /// Ends each step: handles what is due and what must be reported.
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
            // The existing connections are dead.
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

    /// The kind of the interface by which the gateway is reached; the last known one during a doubt, or if it is
    /// unknown.
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

    /// Network and stream separately: their loss is reported after a short delay, their return at once.
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
            // A shorter interval takes effect at once; a longer one after the next probe.
            nextProbe = min(due, now + pause)
            return []
        }
        nextProbe = now + pause
        guard probes.count < times.probes else { return [] }
        lastNumber += 1
        probes[lastNumber] = now + times.probe
        return [.probe(lastNumber)]
    }

    /// Nil while heartbeats are sufficient.
    private func pause(at now: Duration, isReachable: Bool) -> Duration? {
        if doubt != nil || now < eagerUntil { return times.eager }
        guard isReachable else { return spread(times.patient) }
        return stream == .open ? nil : times.steady
    }
}
