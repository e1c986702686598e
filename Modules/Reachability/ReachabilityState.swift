internal import SallyportCore

/// The link to the infrastructure, and what it is good for.
public struct ReachabilityState: Sendable, Hashable, CustomStringConvertible {
    /// Whether the gateway is within reach, and by what.
    public let status: LinkStatus
    /// Whether the machine has a network: an interface other than its own that runs and has an address, or the gateway
    /// within reach.
    public let isNetworkAvailable: Bool
    /// Whether the gateway's event stream is open, over which changes of the policy are told.
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

/// Whether the infrastructure is within reach, and by which kind of interface.
public enum LinkStatus: Sendable, Hashable, CustomStringConvertible {
    /// Nobody looks: ``Reachability/run()`` does not run, or has not for long enough.
    case unknown
    case notReachable
    /// By an interface of this kind; nil where the kernel does not say.
    case reachable(via: InterfaceKind?)

    public var isReachable: Bool { if case .reachable = self { true } else { false } }

    /// The number: 0 for not reachable, 1 for a wireless LAN and 2 for a mobile network, as documented (`GDReachability`);
    /// 3 wired, 4 tunnel, 5 virtual, 6 loopback and 7 for a kind that is not known are ours. 0 too where nobody looks.
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

    /// One of the three documented numbers, for code that knows no others: all that is no mobile network counts as
    /// `ViaWiFi`, 1.
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

/// The states of the link from the moment the sequence was asked for, the present one first.
///
/// A consumer that falls behind sees the newest only. Ends with ``Reachability/shutdown()`` and when its task is cancelled.
public struct ReachabilityChanges: AsyncSequence, Sendable {
    public typealias Element = ReachabilityState
    public typealias Failure = Never
    let stream: AsyncStream<ReachabilityState>

    public func makeAsyncIterator() -> AsyncStream<ReachabilityState>.Iterator { stream.makeAsyncIterator() }
}

/// Hears of changes, besides ``Reachability/changes()``.
public protocol ReachabilityDelegate: AnyObject, Sendable {
    /// Called in the order of changes on a task of ``Reachability/run()``, the newest where several came while it ran.
    func reachability(_ reachability: Reachability, didChange state: ReachabilityState)
}
