internal import SallyportBase
internal import SallyportCore
internal import SallyportWire

/// When a lease ends, for what cannot wait for the actor that decides it (``RelayFeed`` or ``FeedHub``): event loops, and
/// the signing and judging of tokens.
final class LeaseGate: Sendable {
    private let end = PublishedInstant()

    /// Until there is a lease, it is over.
    var isOver: Bool { end.value.map { $0 <= .now } ?? true }

    func publish(_ lease: RelayLease) { end.set(lease.expiry) }
}

/// The policy by which tunnels are judged: the state that was followed, as long as its lease lasts. A relay on a
/// machine of its own has followed control gateways, and a gateway its store.
struct FollowedPolicy: RelayPolicy {
    let current: CurrentState
    let lease: LeaseGate

    func client(presenting certificateDER: [UInt8]) -> (any RelayClient)? {
        if let client = current.client(presenting: certificateDER) { return Client(client: client, lease: lease) }
        // The authorities are a part of what is followed: without word, a stranger may be known elsewhere.
        return lease.isOver ? Stranger() : nil
    }

    private static var over: RelayVerdict {
        .refused(
            error: ProxyStatus.ErrorType.proxyInternalError,
            details: "The relay has had no word for longer than its lease.", status: 503)
    }

    /// A client whose certificate could not be judged at its handshake, since there was no word.
    private struct Stranger: RelayClient {
        var instance: String? { nil }
        var instanceInGoodStanding: String? { nil }

        func decide(_ target: Endpoint) -> RelayVerdict { FollowedPolicy.over }
        func reconsider(_ target: Endpoint) -> RelayVerdict { FollowedPolicy.over }
    }

    private struct Client: RelayClient {
        let client: any RelayClient
        let lease: LeaseGate

        var instance: String? { client.instance }
        var instanceInGoodStanding: String? { client.instanceInGoodStanding }

        func decide(_ target: Endpoint) -> RelayVerdict { lease.isOver ? FollowedPolicy.over : client.decide(target) }

        func catchUp() async -> Bool { await client.catchUp() }

        func reconsider(_ target: Endpoint) -> RelayVerdict {
            lease.isOver ? FollowedPolicy.over : client.reconsider(target)
        }
    }
}
