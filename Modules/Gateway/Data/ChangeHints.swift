internal import SallyportWire

/// The instances that are still to be told that their configuration has changed. A value.
///
/// A hint only says that there is something to fetch, so two changes of one instance need only one hint.
struct ChangeHints: Sendable, Hashable {
    private(set) var concernsAll = false
    /// The instances concerned, in addition to ``concernsAll``.
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
