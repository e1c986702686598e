internal import Foundation
internal import SallyportBase
internal import SallyportCore
internal import SallyportWire

/// The state in force at the gateway, for code that cannot wait for the data's actor: event loops at each handshake and
/// CONNECT, and the signing and verification of tokens.
///
/// A lock, because NIO's handlers and TLS callbacks are synchronous. ``GatewayData`` replaces the whole state with each
/// change, before it reports the change.
final class CurrentState: Sendable {
    private struct State {
        var value: GatewayState
        var verified = VerifiedCertificates()
    }

    private let state: Lock<State>
    let clock: @Sendable () -> Date
    private let contacts: ContactLedger
    /// Reads what is new of the data that the state is made of. Returns whether the state has all that there was at the
    /// call.
    private let follow: @Sendable () async -> Bool
    /// Renewed certificates that the relay was the first to see. Any that overflow the buffer are seen again at the
    /// next CONNECT.
    let renewals: AsyncStream<PresentedCertificate>
    private let continuation: AsyncStream<PresentedCertificate>.Continuation

    init(
        _ state: GatewayState, contacts: ContactLedger, clock: @escaping @Sendable () -> Date,
        follow: @escaping @Sendable () async -> Bool = { true }
    ) {
        self.follow = follow
        self.state = Lock(State(value: state))
        self.contacts = contacts
        self.clock = clock
        (renewals, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(256))
    }

    var value: GatewayState { state.withLock { $0.value } }

    func update(_ new: GatewayState) { state.withLock { $0.value = new } }

    /// Reads what is new, before something is refused because it is not known here.
    ///
    /// - Returns: whether ``value`` has all that there was at the call.
    func catchUp() async -> Bool { await follow() }

    /// Reads a client's certificate issued by an authority that is accepted now.
    func presented(_ der: [UInt8]) throws(GatewayError) -> PresentedCertificate {
        let now = clock()
        let (authorities, known) = state.withLock { state in
            let authorities = state.value.authorities
            return (authorities, state.verified.certificate(der, of: authorities, at: now))
        }
        if let known { return known }
        let presented = try authorities.instance(presented: der, now: now)
        // What is dropped is freed behind the lock.
        _ = state.withLock { $0.verified.add(presented, from: der) }
        return presented
    }

    /// Reads a relay's certificate.
    func relay(presenting der: [UInt8]) throws(GatewayError) -> PresentedRelay {
        try value.authorities.relay(presented: der, now: clock())
    }

    /// The name of a relay in good standing that a certificate identifies; nil for one that was removed, or whose
    /// certificate has expired or was replaced.
    func relayInGoodStanding(presenting der: [UInt8]) -> String? {
        guard let presented = try? relay(presenting: der), !presented.isExpired(at: clock()),
            value.relays.record(of: presented) != nil
        else { return nil }
        return presented.id.uri
    }

    /// Whether a client that has authenticated is still in good standing.
    ///
    /// - Parameter name: by which it has authenticated, that of an instance or of a relay.
    func isInGoodStanding(_ name: String) -> Bool {
        let state = value
        if let relay = RelayIdentifier(uri: name) { return state.relays.relay(relay) != nil }
        return InstanceIdentifier(name).map { state.policy.isInGoodStanding($0) } ?? false
    }

    /// Whether a certificate that was read before still admits its instance to what it has begun: its authority is
    /// accepted, and it has not expired.
    func admits(_ presented: PresentedCertificate) -> Bool {
        let now = clock()
        return value.authorities.accept(presented, at: now) && !presented.isExpired(at: now)
    }

    /// Whether an instance that was admitted may ask for a name. Judged by what is in force now: the query may have
    /// come seconds after the head of its request, with which the instance was admitted.
    func judge(_ presented: PresentedCertificate, name host: SallyportCore.Host) -> NameVerdict {
        let state = value
        guard state.authorities.accept(presented, at: clock()) else { return .refused }
        return state.policy.judge(presented.name, name: host)
    }
}

extension CurrentState: RelayPolicy {
    func client(presenting certificateDER: [UInt8]) -> (any RelayClient)? {
        // Read first: of an authority that comes into force in between, these still say that it is announced.
        let authorities = value.authorities
        if let presented = try? presented(certificateDER) { return Client(presented: presented, current: self) }
        guard authorities.mayAccept(certificateDER, at: clock()) else { return nil }
        return Newcomer(certificate: certificateDER, current: self)
    }

    /// A client with a certificate of an authority that is only announced, as far as is known here. The certificate is
    /// read at each decision, since the authority may have come into force in the meantime.
    private struct Newcomer: RelayClient {
        /// DER.
        let certificate: [UInt8]
        let current: CurrentState

        private var client: Client? {
            (try? current.presented(certificate)).map { Client(presented: $0, current: current) }
        }

        var instance: String? { client?.instance }

        var instanceInGoodStanding: String? { client?.instanceInGoodStanding }

        func decide(_ target: Endpoint) -> RelayVerdict { client?.decide(target) ?? .unknown }

        func catchUp() async -> Bool { await current.catchUp() }

        func reconsider(_ target: Endpoint) -> RelayVerdict { client?.reconsider(target) ?? Client.refusal }
    }

    private struct Client: RelayClient {
        let presented: PresentedCertificate
        let current: CurrentState

        var instance: String? { presented.name.instance.description }

        var instanceInGoodStanding: String? { current.value.policy.instanceInGoodStanding(presented) }

        func decide(_ target: Endpoint) -> RelayVerdict {
            let state = current.value
            guard isAccepted(by: state.authorities) else { return Self.refusal }
            let judgement = state.policy.judge(presented, target: target)
            if judgement.isNew { current.continuation.yield(presented) }
            if judgement.isAuthentic { current.contacts.note(presented.name.instance, at: current.clock()) }
            return judgement.verdict
        }

        func catchUp() async -> Bool { await current.catchUp() }

        /// A renewal does not end a tunnel, but the end of the authority that issued its certificate does: with that
        /// authority's leaked key, a certificate with any instance's serial number could have been made.
        func reconsider(_ target: Endpoint) -> RelayVerdict {
            let state = current.value
            guard isAccepted(by: state.authorities) else { return Self.refusal }
            return state.policy.judgeOpen(presented.name, target: target)
        }

        private func isAccepted(by authorities: AcceptedAuthorities) -> Bool {
            authorities.accept(presented, at: current.clock())
        }

        static var refusal: RelayVerdict {
            .refused(
                error: ProxyStatus.ErrorType.requestDenied, details: "The certificate is not accepted.", status: 403)
        }
    }
}
