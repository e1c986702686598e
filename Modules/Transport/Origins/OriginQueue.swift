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
    var origin: Origin
    /// The most concurrent exchanges with the origin, if each has a connection to itself.
    var limit: Int
    /// Its place in the queue, while it waits.
    var ticket: OriginTicket?
}

/// The lanes of a pool's origins.
///
/// libcurl has such a limit too, but counts waiting transfers as idle and late, and does not keep their order.
struct OriginQueue {
    private var lanes = OriginTable<OriginLane<any PoolMember>>()
    /// Origins where a waiting exchange may now be admitted.
    private var stirred: [Origin] = []

    var isStirred: Bool { !stirred.isEmpty }

    /// - Returns: whether the member may go on now. One without a claim always may.
    mutating func admits(_ member: any PoolMember) -> Bool {
        guard let claim = member.attempt.claim else { return true }
        let urgency = member.urgency
        let ticket = lanes.change(claim.origin, from: .init()) { lane in
            lane.arrived(member, limit: claim.limit, urgency: urgency)
        }
        member.attempt.claim?.ticket = ticket
        return ticket == nil
    }

    /// The member no longer waits at its former position.
    mutating func leftQueue(_ member: any PoolMember) {
        guard let claim = member.attempt.claim, let ticket = claim.ticket else { return }
        member.attempt.claim?.ticket = nil
        change(claim.origin) { $0.gaveUp(ticket) }
    }

    /// The member has ended, in any state.
    mutating func left(_ member: any PoolMember) {
        guard let claim = member.attempt.claim else { return }
        change(claim.origin) { lane in
            if let ticket = claim.ticket { lane.gaveUp(ticket) } else { lane.ended() }
        }
    }

    /// The members that may go on since the last call, in their order.
    mutating func takeAdmitted() -> [any PoolMember] {
        var admitted: [any PoolMember] = []
        for origin in stirred {
            while let member = lanes.change(origin, { $0.nextAdmitted() }) ?? nil {
                member.attempt.claim?.ticket = nil
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
