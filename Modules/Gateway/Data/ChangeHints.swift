internal import SallyportWire

/// Which instances are to be told that their configuration changed, and were not yet. A value.
///
/// Hints say only that there is something to fetch, so that two changes of one instance need one hint.
struct ChangeHints: Sendable, Hashable {
    private(set) var concernsAll = false
    /// Besides ``concernsAll``.
    private(set) var instances: Set<InstanceIdentifier> = []

    mutating func note(_ change: GatewayChange) {
        switch change {
        case .directory: (concernsAll, instances) = (true, [])
        case .instance(let instance): if !concernsAll { instances.insert(instance) }
        case .identities, .tokenKeys: break
        }
    }

    var isEmpty: Bool { !concernsAll && instances.isEmpty }
}
