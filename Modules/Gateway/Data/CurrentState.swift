internal import Foundation
internal import SallyportBase
internal import SallyportCore
internal import SallyportWire

/// What is in force at the gateway, for those who cannot wait for its data: event loops at each handshake and CONNECT,
/// and those who sign and verify.
///
/// A lock, because NIO's handlers and the callbacks of TLS are synchronous. It guards one reference: ``GatewayData``
/// replaces the state whole with each change, before anybody hears of the change.
final class CurrentState: Sendable {
    private let state: Lock<GatewayState>
    let clock: @Sendable () -> Date
    /// The renewed certificates that the relay is the first to see; what overflows is seen again at the next CONNECT.
    let renewals: AsyncStream<PresentedCertificate>
    private let continuation: AsyncStream<PresentedCertificate>.Continuation

    init(_ state: GatewayState, clock: @escaping @Sendable () -> Date) {
        self.state = Lock(state)
        self.clock = clock
        (renewals, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(256))
    }

    var value: GatewayState { state.withLock { $0 } }

    func update(_ new: GatewayState) { state.withLock { $0 = new } }

    /// Reads a client's certificate, of an authority that is accepted now.
    func presented(_ der: [UInt8]) throws(GatewayError) -> PresentedCertificate {
        try value.authorities.instance(presented: der, now: clock())
    }

    /// What may be asked of a name by an instance that was admitted.
    func judge(_ record: InstanceRecord, name host: SallyportCore.Host) -> NameVerdict {
        value.policy.judge(record, name: host)
    }
}

extension CurrentState: RelayPolicy {
    func client(presenting certificateDER: [UInt8]) -> (any RelayClient)? {
        guard let presented = try? presented(certificateDER) else { return nil }
        return Client(presented: presented, current: self)
    }

    private struct Client: RelayClient {
        let presented: PresentedCertificate
        let current: CurrentState

        var instanceInGoodStanding: String? { current.value.policy.instanceInGoodStanding(presented) }

        func decide(_ target: Endpoint) -> RelayVerdict {
            let state = current.value
            guard isAccepted(by: state.authorities) else { return Self.refusal }
            let judgement = state.policy.judge(presented, target: target)
            if judgement.isNew { current.continuation.yield(presented) }
            return judgement.verdict
        }

        /// A renewal ends no tunnel, and the end of the authority that vouched for its certificate does: with a key that
        /// leaked, a certificate could be made with any instance's serial number.
        func reconsider(_ target: Endpoint) -> RelayVerdict {
            let state = current.value
            guard isAccepted(by: state.authorities) else { return Self.refusal }
            return state.policy.judgeOpen(presented.name, target: target)
        }

        private func isAccepted(by authorities: Authorities) -> Bool {
            authorities.accept(presented, at: current.clock())
        }

        private static var refusal: RelayVerdict {
            .refused(
                error: ProxyStatus.ErrorType.requestDenied, details: "The certificate is not accepted.", status: 403)
        }
    }
}
