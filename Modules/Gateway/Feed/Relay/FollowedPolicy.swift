internal import SallyportBase
internal import SallyportCore
internal import SallyportWire

/// A relay's lease, for event loops, which cannot wait for an actor: hence a lock.
final class LeaseGate: Sendable {
    private let lease: Lock<RelayLease>

    init(_ length: Duration) { lease = Lock(RelayLease(length)) }

    var isOver: Bool { lease.withLock { $0.isOver(at: .now) } }
    /// How long the relay goes on without further word.
    var rest: Duration { lease.withLock { $0.rest(at: .now) } }

    func heard(at time: RelayLease.Instant) { lease.withLock { $0.heard(at: time) } }

    func end() { lease.withLock { $0.end(at: .now) } }
}

/// The policy of a relay that follows control gateways: what they say, as long as the relay's lease lasts.
struct FollowedPolicy: RelayPolicy {
    let current: CurrentState
    let lease: LeaseGate

    func client(presenting certificateDER: [UInt8]) -> (any RelayClient)? {
        current.client(presenting: certificateDER).map { Client(client: $0, lease: lease) }
    }

    private struct Client: RelayClient {
        let client: any RelayClient
        let lease: LeaseGate

        var instance: String { client.instance }
        var instanceInGoodStanding: String? { client.instanceInGoodStanding }

        func decide(_ target: Endpoint) -> RelayVerdict { lease.isOver ? Self.over : client.decide(target) }

        func catchUp() async { await client.catchUp() }

        func reconsider(_ target: Endpoint) -> RelayVerdict { lease.isOver ? Self.over : client.reconsider(target) }

        private static var over: RelayVerdict {
            .refused(
                error: ProxyStatus.ErrorType.proxyInternalError,
                details: "The relay has no word from its control gateways.", status: 503)
        }
    }
}
