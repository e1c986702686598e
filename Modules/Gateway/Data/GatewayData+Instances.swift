internal import Foundation
internal import SallyportBase
internal import SallyportSecureStore
internal import SallyportWire

// MARK: Changing one

extension GatewayData {
    /// Changes the record of an instance, in memory at once and durably when this returns.
    ///
    /// `change` receives the current record, and is not interleaved with other changes, so that simultaneous changes do
    /// not undo each other. If the store fails, the memory is restored.
    ///
    /// - Parameter isAnnounced: whether relay and event streams are informed.
    @discardableResult
    func change(
        _ id: InstanceIdentifier, isAnnounced: Bool = true, _ change: (inout InstanceRecord) throws -> Void
    ) async throws -> InstanceRecord {
        guard let before = instances[id] else {
            throw GatewayError(.notFound, "No instance \(id): `admin instances` shows them.")
        }
        var record = before
        try change(&record)
        guard record != before else { return record }
        // The last contact goes along with any write, and makes none of its own.
        record.lastSeen = contacts.last(with: id) ?? record.lastSeen
        instances[id] = record
        do {
            try await store.write { [collections, record] in
                try $0.set(record, for: id.description, in: collections.instances)
            }
        } catch {
            if instances[id] == record { instances[id] = before }
            throw error
        }
        if isAnnounced { tell(.instance(id)) }
        return record
    }

    /// Applies an administrator's decision to one instance.
    ///
    /// - Returns: `done`, or `needsConfirmation` for a wipe that was not confirmed.
    func withdraw(
        _ text: String, _ withdrawal: AdministrationCommand.Withdrawal, confirmed: Bool
    ) async throws -> AdministrationReply {
        guard let id = InstanceIdentifier(text) else {
            throw GatewayError(.notFound, "No instance \(text): `admin instances` shows them.")
        }
        if withdrawal == .wipe, !confirmed, let record = instances[id] {
            try Self.check(record, admits: withdrawal)
            return .needsConfirmation([entry(record)])
        }
        let now = clock()
        try await change(id) { record in
            try Self.check(record, admits: withdrawal)
            switch withdrawal {
            case .block: record.withdrawals.insert(.blocked)
            case .unblock: record.withdrawals.remove(.blocked)
            case .lock, .lockIdle, .lockForPasswordChange:
                record.withdrawals.insert(.locked)
                record.lockReason = Self.reason(of: withdrawal)
            case .unlock:
                record.withdrawals.remove(.locked)
                record.lockReason = nil
            case .wipe: record.end(.wiped, at: now)
            }
        }
        return .done
    }

    private static func reason(of lock: AdministrationCommand.Withdrawal) -> InstanceRecord.LockReason? {
        switch lock {
        case .lockIdle: .idle
        case .lockForPasswordChange: .passwordChange
        default: nil
        }
    }

    private static func check(
        _ record: InstanceRecord, admits withdrawal: AdministrationCommand.Withdrawal
    ) throws(GatewayError) {
        guard record.ended == nil || withdrawal == .wipe, record.withdrawal != .wiped else {
            throw GatewayError(
                .invalid, "Instance \(record.name.instance) is wiped: it can only be activated anew.")
        }
    }
}

// MARK: Identification

extension GatewayData {
    nonisolated func isExpired(_ presented: PresentedCertificate) -> Bool { presented.isExpired(at: clock()) }

    /// The instance that a certificate identifies. The first use of a renewed certificate retires the old one.
    ///
    /// - Throws: `unauthorized` for an unknown serial number, `retired` for one that was replaced.
    @discardableResult
    func admitted(_ presented: PresentedCertificate) async throws -> InstanceRecord {
        guard let record = instances[presented.name.instance], record.name == presented.name else {
            throw GatewayError(.unauthorized, "The instance is not known here.")
        }
        let standing = record.standing(of: presented.serial)
        if standing.isAccepted { contacts.note(record.name.instance, at: clock()) }
        switch standing {
        case .current: return record
        case .renewed: return try await change(record.name.instance) { $0.adopt(presented.serial) }
        case .retired: throw GatewayError(.retired, "The certificate was replaced by a renewed one.")
        case .unknown: throw GatewayError(.unauthorized, "The certificate is not known here.")
        }
    }

    /// The relay saw a renewed certificate: the previous one is refused from now on.
    func sawAtRelay(_ presented: PresentedCertificate) async {
        // If the store fails, the next use, here or at the control plane, tries again.
        _ = try? await admitted(presented)
    }

    func status(of record: InstanceRecord) -> ConfigurationDocument.Status {
        ConfigurationBuilder.status(of: record, entitled: directory.versions(for: record)).status
    }

    /// The relay's policy, as a value that needs no actor.
    func relaySnapshot() -> RelaySnapshot {
        if let snapshot, snapshot.revision == revision { return snapshot.value.with(instances) }
        let made = RelaySnapshot(directory: directory, instances: instances, clock: clock)
        snapshot = (revision, made)
        return made
    }
}
