internal import Foundation
internal import SallyportBase
internal import SallyportCore
internal import SallyportWire

/// The snapshot that is in force, for the relay's threads.
final class CurrentRelayPolicy: RelayPolicy {
    private let snapshot: Lock<RelaySnapshot>
    private let authorities: Lock<Authorities>
    private let clock: @Sendable () -> Date
    /// The renewed certificates that the relay is the first to see; what overflows is seen again at the next CONNECT.
    let renewals: AsyncStream<PresentedCertificate>
    private let continuation: AsyncStream<PresentedCertificate>.Continuation

    init(_ snapshot: RelaySnapshot, authorities: Authorities, clock: @escaping @Sendable () -> Date) {
        self.snapshot = Lock(snapshot)
        self.authorities = Lock(authorities)
        self.clock = clock
        (renewals, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(256))
    }

    func update(_ new: RelaySnapshot, _ authorities: Authorities) {
        snapshot.withLock { $0 = new }
        self.authorities.withLock { $0 = authorities }
    }

    func client(presenting certificateDER: [UInt8]) -> (any RelayClient)? {
        let authorities = authorities.withLock { $0 }
        guard let presented = try? authorities.instance(presented: certificateDER, now: clock()) else { return nil }
        return Client(presented: presented, policy: self)
    }

    /// What may be asked of a name by an instance that was admitted.
    func judge(_ record: InstanceRecord, name host: SallyportCore.Host) -> NameVerdict {
        snapshot.withLock { $0 }.judge(record, name: host)
    }

    /// What holds of whom an auth token names.
    func standing(of claims: AuthTokenClaims) -> AuthTokenAPI.Verdict {
        snapshot.withLock { $0 }.standing(of: claims)
    }

    private struct Client: RelayClient {
        let presented: PresentedCertificate
        let policy: CurrentRelayPolicy

        var instanceInGoodStanding: String? {
            policy.snapshot.withLock { $0 }.instanceInGoodStanding(presented)
        }

        func decide(_ target: Endpoint) -> RelayVerdict {
            guard isOfAcceptedAuthority else { return Self.refusal }
            let judgement = policy.snapshot.withLock { $0 }.judge(presented, target: target)
            if judgement.isNew { policy.continuation.yield(presented) }
            return judgement.verdict
        }

        /// A renewal ends no tunnel, and the end of the authority that vouched for its certificate does: with a key that
        /// leaked, a certificate could be made with any instance's serial number.
        func reconsider(_ target: Endpoint) -> RelayVerdict {
            guard isOfAcceptedAuthority else { return Self.refusal }
            return policy.snapshot.withLock { $0 }.judgeOpen(presented.name, target: target)
        }

        private var isOfAcceptedAuthority: Bool {
            policy.authorities.withLock { $0 }.accept(presented, at: policy.clock())
        }

        private static var refusal: RelayVerdict {
            .refused(
                error: ProxyStatus.ErrorType.requestDenied, details: "The certificate is not accepted.", status: 403)
        }
    }
}
