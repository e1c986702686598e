internal import SallyportCore

/// The destination of an exchange, by which connections are counted: scheme, host and port, separated further if
/// connections must not be shared.
struct Origin: Hashable {
    var endpoint: Endpoint
    var isSecure: Bool
    var isHTTP1Only: Bool
}

/// An exchange's claim to a connection of its origin.
struct OriginClaim {
    enum Place: Equatable {
        /// It does not wait for a connection: it is new, or was suspended before it was admitted.
        case outside
        case queue(OriginTicket)
        /// It counts as one of its origin's.
        case admitted
    }

    var origin: Origin
    /// The most concurrent exchanges with the origin, if each has a connection to itself.
    var limit: Int
    fileprivate(set) var place = Place.outside

    init(origin: Origin, limit: Int) { (self.origin, self.limit) = (origin, limit) }
}

/// The lanes of a pool's origins.
///
/// libcurl has such a limit too, but counts waiting transfers as idle and late, and does not keep their order.
struct OriginQueue {
    private var lanes = OriginTable<OriginLane<any PoolMember>>()
    /// Origins where a waiting exchange may now be admitted.
    private var stirred: [Origin] = []

    var isStirred: Bool { !stirred.isEmpty }

    /// The member is new, or waits, and its priority has changed, or whether it is suspended: it gets another place.
    ///
    /// - Parameter isSuspended: asked for once, since other threads change it at any time. They say so afterwards.
    /// - Returns: whether the member may go on now. One without a claim always may.
    mutating func admits(_ member: any PoolMember, isSuspended: Bool) -> Bool {
        guard let claim = member.attempt.claim else { return true }
        if claim.place != .outside { left(member) }
        guard !isSuspended else { return false }
        let urgency = member.urgency
        let ticket = lanes.change(claim.origin, from: .init()) { lane in
            lane.arrived(member, limit: claim.limit, urgency: urgency)
        }
        member.attempt.claim?.place = ticket.map { .queue($0) } ?? .admitted
        return ticket == nil
    }

    /// The member has ended, in any state, or gives its place up.
    mutating func left(_ member: any PoolMember) {
        guard let claim = member.attempt.claim, claim.place != .outside else { return }
        member.attempt.claim?.place = .outside
        change(claim.origin) { lane in
            if case .queue(let ticket) = claim.place { lane.gaveUp(ticket) } else { lane.ended() }
        }
    }

    /// The members that may go on since the last call, in their order.
    mutating func takeAdmitted() -> [any PoolMember] {
        var admitted: [any PoolMember] = []
        for origin in stirred {
            while let member = lanes.change(origin, { $0.nextAdmitted() }) ?? nil {
                member.attempt.claim?.place = .admitted
                admitted.append(member)
            }
        }
        stirred.removeAll(keepingCapacity: true)
        return admitted
    }

    // MARK: Connections

    /// Whether the origin's connections carry one exchange at a time, or many.
    mutating func learned(_ origin: Origin, isMultiplexed: Bool) {
        guard let lane = lanes[origin], lane.isMultiplexed != isMultiplexed else { return }
        lanes.change(origin) { $0.learned(isMultiplexed: isMultiplexed) }
        stirred.append(origin)
    }

    /// Whether the origin is known to take one exchange at a time on each connection.
    func isOneByOne(_ origin: Origin) -> Bool { lanes[origin]?.isMultiplexed == false }

    mutating func opened(_ origin: Origin) { lanes.change(origin, from: .init()) { $0.opened() } }

    mutating func closed(_ origin: Origin) { change(origin) { $0.closed() } }

    private mutating func change(_ origin: Origin, _ body: (inout OriginLane<any PoolMember>) -> Void) {
        let outcome = lanes.change(origin) { lane in
            body(&lane)
            return (isWaitedFor: lane.isWaitedFor, isForgettable: lane.isForgettable)
        }
        guard let outcome else { return }
        if outcome.isWaitedFor { return stirred.append(origin) }
        if outcome.isForgettable { lanes.remove(origin) }
    }
}
