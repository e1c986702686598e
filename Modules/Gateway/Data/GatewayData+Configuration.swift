internal import Foundation
internal import SallyportCore
internal import SallyportSecureStore
internal import SallyportWire

extension GatewayData {
    /// Signs the configuration of an instance, with a new epoch.
    ///
    /// - Throws: `forbidden` for an instance that was wiped or denied more than 30 days ago.
    func configuration(for presented: PresentedCertificate, version: String?) async throws -> String {
        let admitted = try await admitted(presented)
        let now = clock()
        if let ended = admitted.ended, now.timeIntervalSince(ended) >= InstanceRecord.answeredAfterEnd {
            throw GatewayError(.forbidden, "The instance was withdrawn more than 30 days ago.")
        }
        let asked = version.flatMap(EntitlementVersion.init) ?? admitted.version.flatMap(EntitlementVersion.init)
        let chosen = asked ?? directory.versions(for: admitted).last
        let epoch = try await nextEpoch(of: presented.name.instance, version: chosen, at: now)
        return try await maker.text(order(presented.name.instance, epoch: epoch, version: chosen, at: now))
    }

    /// An epoch that no configuration of the instance has had, even if this process has crashed in between.
    ///
    /// Writes only if the reserve in the store is used up, or if another version was requested.
    private func nextEpoch(
        of id: InstanceIdentifier, version: EntitlementVersion?, at now: Date
    ) async throws -> Int64 {
        guard let record = instances[id] else { throw GatewayError(.unauthorized, "The instance is not known here.") }
        var ledger = epochs[id] ?? EpochLedger(kept: record.epoch)
        let epoch = ledger.next(at: Int64(now.timeIntervalSince1970 * 1000))
        epochs[id] = ledger
        let reservation = ledger.reservation(for: epoch)
        guard reservation != nil || record.version != version?.description else { return epoch }
        try await change(id, isAnnounced: false) { record in
            record.version = version?.description
            if let reservation { record.epoch = max(record.epoch, reservation) }
        }
        // Only once it is durable: of two simultaneous fetches, each waits for a write that covers its own epoch.
        if let reservation { epochs[id]?.keep(reservation) }
        return epoch
    }

    /// The highest epoch of the instance's configurations; the record's own epoch is ahead of those signed since the
    /// start.
    func newestEpoch(of record: InstanceRecord) -> Int64 { epochs[record.name.instance]?.last ?? record.epoch }

    /// Made from the present state: directory and record may have changed while the epoch was stored.
    private func order(
        _ id: InstanceIdentifier, epoch: Int64, version: EntitlementVersion?, at now: Date
    ) throws -> ConfigurationOrder {
        guard var record = instances[id] else { throw GatewayError(.unauthorized, "The instance is not known here.") }
        record.epoch = epoch
        let builder = ConfigurationBuilder(
            directory: directory, record: record, settings: settings, trust: authorities.announced,
            relayAuthorities: authorities.all, now: now)
        return ConfigurationOrder(builder: builder, version: version, revision: revision, signer: signer)
    }
}
