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
        let epoch = try await change(presented.name.instance, isAnnounced: false) { record in
            record.version = chosen?.description
            record.lastSeen = now
            record.epoch = max(record.epoch + 1, Int64(now.timeIntervalSince1970 * 1000))
        }.epoch
        return try signed(presented.name.instance, epoch: epoch, version: chosen, now: now)
    }

    /// What stands when it is signed counts: the directory and the record may have changed while the epoch was kept.
    private func signed(
        _ id: InstanceIdentifier, epoch: Int64, version: EntitlementVersion?, now: Date
    ) throws -> String {
        guard var record = instances[id] else { throw GatewayError(.unauthorized, "The instance is not known here.") }
        record.epoch = epoch
        let document = try ConfigurationBuilder(
            directory: directory, record: record, settings: settings, authority: authority.der, now: now
        ).document(version: version)
        return try JWS.sign(
            document.serialized(),
            header: JWS.Header(type: ConfigurationDocument.type, certificates: [signer.certificate]),
            with: signer.parsed().key)
    }
}
