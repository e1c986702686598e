internal import Foundation
internal import HashTreeCollections
internal import SallyportCore
internal import SallyportWire

extension GatewayData {
    /// Signs the configuration of an instance, with a new epoch.
    ///
    /// - Throws: `forbidden` for an instance that was wiped or denied more than 30 days ago; `limited` for one that names
    ///   another version each time.
    func configuration(for presented: PresentedCertificate, version: EntitlementVersion?) async throws -> String {
        let admitted = try await admitted(presented)
        let now = clock()
        if let ended = admitted.ended, now.timeIntervalSince(ended) >= InstanceRecord.answeredAfterEnd {
            throw GatewayError(.forbidden, "The instance was withdrawn more than 30 days ago.")
        }
        let asked = version ?? admitted.version.flatMap(EntitlementVersion.init)
        let chosen = asked ?? directory.versions(for: admitted).last
        let id = presented.name.instance
        if admitted.ended == nil, admitted.version != chosen?.description {
            // The first one replaces none, and may be named by several requests at once.
            if admitted.version != nil {
                try versionChanges.take(id, at: now, or: "The app asks for another version too often.")
            }
            do { try await change(id, audit: nil) { $0.version = chosen?.description } } catch {
                // A database of a later version takes no change from this gateway, but grants epochs: the app gets what
                // holds, and a gateway that is upgraded notes the version. A database that is away grants no epoch below.
                guard (error as? GatewayError)?.code == .store else { throw error }
            }
        }
        let granted = try await store.nextEpoch(
            of: id, atLeast: Int64(now.timeIntervalSince1970 * 1000), seen: contacts.last(with: id))
        try await catchUp(to: granted.revision)
        return try await maker.text(order(id, epoch: granted.epoch, version: chosen, at: now))
    }

    /// Made from the present state: directory and record may have changed while the epoch was granted.
    private func order(
        _ id: InstanceIdentifier, epoch: Int64, version: EntitlementVersion?, at now: Date
    ) throws -> ConfigurationOrder {
        guard var record = instances[id] else { throw GatewayError(.unauthorized, "The instance is not known here.") }
        record.epoch = epoch
        let builder = ConfigurationBuilder(
            directory: directory, record: record, settings: settings, gateways: gateways, relays: try ownRelays(),
            trust: authorities.announced, relayAuthorities: authorities.all, now: now)
        return ConfigurationOrder(builder: builder, version: version, revision: revision, signer: signer)
    }
}
