internal import Foundation
internal import SallyportBase
internal import SallyportWire

/// When each instance was last authenticated by a request to the control plane or the relay, or was listening to its
/// event stream.
///
/// In memory: a write for each contact would cost a sync of the disk. The time goes into the instance's record with the
/// next change of that record. The fetch of a configuration is such a change; where the store is the gateway's own,
/// unless the last one was less than a minute ago. So other gateways of a fleet know of a contact as of the last
/// configuration.
///
/// A lock, because the relay answers on event loops, which cannot wait for the data's actor.
final class ContactLedger: Sendable {
    private let times = Lock<[InstanceIdentifier: Date]>([:])

    /// - Parameter instances: have a record, which bounds the ledger.
    func note(_ instances: [InstanceIdentifier], at time: Date) {
        guard !instances.isEmpty else { return }
        times.withLock { times in
            for instance in instances { times[instance] = time }
        }
    }

    func note(_ instance: InstanceIdentifier, at time: Date) { times.withLock { $0[instance] = time } }

    /// Nil if there was none since the gateway's start.
    func last(with instance: InstanceIdentifier) -> Date? { times.withLock { $0[instance] } }
}
