internal import Foundation
internal import SallyportCore
internal import SallyportWire

/// The snapshot that is in force, for the relay's threads.
final class CurrentRelayPolicy: RelayPolicy {
    private let snapshot: Lock<RelaySnapshot>
    private let authority: CertificateAuthority
    private let clock: @Sendable () -> Date
    /// The renewed certificates that the relay is the first to see; what overflows is seen again at the next CONNECT.
    let renewals: AsyncStream<PresentedCertificate>
    private let continuation: AsyncStream<PresentedCertificate>.Continuation

    init(_ snapshot: RelaySnapshot, authority: CertificateAuthority, clock: @escaping @Sendable () -> Date) {
        self.snapshot = Lock(snapshot)
        self.authority = authority
        self.clock = clock
        (renewals, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(256))
    }

    func update(_ new: RelaySnapshot) { snapshot.withLock { $0 = new } }

    func client(presenting certificateDER: [UInt8]) -> (any RelayClient)? {
        guard let presented = try? authority.instance(presented: certificateDER, now: clock()) else { return nil }
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
            let judgement = policy.snapshot.withLock { $0 }.judge(presented, target: target)
            if judgement.isNew { policy.continuation.yield(presented) }
            return judgement.verdict
        }

        func reconsider(_ target: Endpoint) -> RelayVerdict {
            policy.snapshot.withLock { $0 }.judgeOpen(presented.name, target: target)
        }
    }
}
