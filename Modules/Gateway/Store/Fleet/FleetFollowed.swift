internal import HashTreeCollections
internal import SallyportWire

/// The state of a fleet's database as it was followed, so far as it takes to follow the next change and to find that the
/// tables have what belongs to their revision. A change costs what has changed, however many instances there are.
struct FleetFollowed: Sendable {
    private(set) var mark = FleetMark(revision: 0)
    /// Of each instance, the number of the update that was announced last.
    private var announcements: TreeDictionary<InstanceIdentifier, Int64> = [:]

    /// The state with what has changed since.
    ///
    /// - Parameters:
    ///   - changes: everything that there is, for a state that has nothing yet.
    ///   - digests: the set of each instance's row, in the order of the instances.
    ///   - gateways: all; nil if none has changed.
    /// - Throws: `store` if the tables do not have what belongs to their revision.
    func with(
        _ changes: StoredChanges, _ digests: [FleetDigest], _ gateways: [Revised<GatewayRecord>]?, _ key: FleetKey
    ) throws(GatewayError) -> FleetFollowed {
        var new = self
        new.mark.revision = changes.revision
        new.mark.directory = changes.directory?.revision ?? mark.directory
        new.mark.authorities = changes.authorities?.revision ?? mark.authorities
        new.mark.relays = changes.relays?.revision ?? mark.relays
        let hash = key.instanceHash
        for (record, digest) in zip(changes.instances, digests) {
            let (id, number) = (record.name.instance, record.announcement)
            let old = new.announcements.updateValue(number, forKey: id)
            guard old != number else { continue }
            if let old { new.mark.instances.toggle(hash.digest(of: id, old)) }
            new.mark.instances.toggle(digest)
        }
        if let gateways { new.mark.gateways = key.gatewayHash.digest(of: gateways) }
        try changes.mark?.check(new.mark)
        return new
    }
}
