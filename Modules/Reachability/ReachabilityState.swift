internal import SallyportCore

/// The state of the link to the infrastructure.
public struct ReachabilityState: Sendable, Hashable, CustomStringConvertible {
    /// Whether the gateway is reachable, and by which kind of interface.
    public let status: LinkStatus
    /// Whether the machine has a network: a running interface other than the loopback with an address, or a reachable
    /// gateway.
    public let isNetworkAvailable: Bool
    /// Whether the gateway's event stream, which announces policy changes, is open.
    public let isPushChannelAvailable: Bool

    package init(status: LinkStatus = .unknown, isNetworkAvailable: Bool = false, isPushChannelAvailable: Bool = false)
    {
        self.status = status
        self.isNetworkAvailable = isNetworkAvailable
        self.isPushChannelAvailable = isPushChannelAvailable
    }

    init(_ report: LinkWatch.Report) {
        let status: LinkStatus =
            switch report.standing {
            case .unknown: .unknown
            case .unreachable: .notReachable
            case .reachable(let kind): .reachable(via: kind)
            }
        self.init(
            status: status, isNetworkAvailable: report.isNetworkAvailable,
            isPushChannelAvailable: report.isPushAvailable)
    }

    public var description: String {
        let network = isNetworkAvailable ? "network available" : "no network"
        return "\(status), \(network), push channel \(isPushChannelAvailable ? "available" : "not available")"
    }
}

extension ReachabilityState {
    var infrastructure: InfrastructureState {
        switch status {
        case .unknown: .unknown
        case .notReachable: .unreachable
        case .reachable: .reachable
        }
    }
}

/// Whether the infrastructure is reachable, and by which kind of interface.
public enum LinkStatus: Sendable, Hashable, CustomStringConvertible {
    /// Not observed: ``Reachability/run()`` does not run, or has not run long enough.
    case unknown
    /// Observed, and no contact with the gateway.
    case notReachable
    /// By an interface of this kind; nil if the kernel does not say.
    case reachable(via: InterfaceKind?)

    /// False also while it is not observed.
    public var isReachable: Bool { if case .reachable = self { true } else { false } }

    /// The number: 0 for not reachable or not observed, 1 for a wireless LAN, 2 for a mobile network, 3 wired, 4
    /// tunnel, 5 virtual, 6 loopback and 7 for an unknown kind.
    public var number: Int {
        switch self {
        case .unknown, .notReachable: 0
        case .reachable(.wireless): 1
        case .reachable(.cellular): 2
        case .reachable(.wired): 3
        case .reachable(.tunnel): 4
        case .reachable(.virtual): 5
        case .reachable(.loopback): 6
        case .reachable(nil): 7
        }
    }

    /// The number for code that knows only 0 to 2: every kind of interface except a mobile network is 1.
    public var documentedNumber: Int { min(number, 3) == 2 ? 2 : isReachable ? 1 : 0 }

    public var description: String {
        switch self {
        case .unknown: "unknown"
        case .notReachable: "not reachable"
        case .reachable(let kind?): "reachable (\(kind))"
        case .reachable(nil): "reachable"
        }
    }
}

/// The states of the link from the moment the sequence is requested, beginning with the current one.
///
/// A slow consumer skips to the newest. Ends with ``Reachability/shutdown()`` and when its task is cancelled.
public struct ReachabilityChanges: AsyncSequence, Sendable {
    public typealias Element = ReachabilityState
    public typealias Failure = Never
    let stream: AsyncStream<ReachabilityState>

    public func makeAsyncIterator() -> AsyncStream<ReachabilityState>.Iterator { stream.makeAsyncIterator() }
}

/// Receives changes, like ``Reachability/changes()``.
public protocol ReachabilityDelegate: AnyObject, Sendable {
    /// Called in the order of changes on a task of ``Reachability/run()``; skips to the newest if several came while it
    /// ran.
    func reachability(_ reachability: Reachability, didChange state: ReachabilityState)
}
