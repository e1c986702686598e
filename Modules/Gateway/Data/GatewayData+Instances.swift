internal import Foundation
internal import HashTreeCollections
internal import SallyportBase
internal import SallyportCore
internal import SallyportSecureStore
internal import SallyportWire

// MARK: Changing one

extension GatewayData {
    /// Changes the record of an instance; durable and in force when this returns.
    ///
    /// - Parameters:
    ///   - note: what the audit trail tells of it; nil for what the instance reports of itself.
    ///   - edit: decides by the record in the store, in a transaction; pure.
    @discardableResult
    func change<Value: Sendable>(
        _ id: InstanceIdentifier, audit note: AuditNote?,
        _ edit: @escaping @Sendable (inout InstanceRecord) throws -> Value
    ) async throws -> InstanceChange<Value> {
        let change = try await commit(id, audit: note, edit)
        try await settle(change)
        return change
    }

    /// As ``change(_:audit:_:)``, but not in force yet when this returns: ``settle(_:)`` sees to that.
    private func commit<Value: Sendable>(
        _ id: InstanceIdentifier, audit note: AuditNote?,
        _ edit: @escaping @Sendable (inout InstanceRecord) throws -> Value
    ) async throws -> InstanceChange<Value> {
        let seen = contacts.last(with: id)
        return try await store.change(id, audit: note) { (record: inout InstanceRecord) in
            let before = record
            let value = try edit(&record)
            // The last contact goes along with any write, and makes none of its own.
            if record != before { record.lastSeen = seen ?? record.lastSeen }
            return value
        }
    }

    /// Applies an administrator's decision to one instance.
    ///
    /// - Returns: `done`, with a warning if the instance is still withdrawn for another reason; `needsConfirmation` for a
    ///   wipe that was not confirmed.
    func withdraw(
        _ text: String, _ withdrawal: AdministrationCommand.Withdrawal, confirmed: Bool, _ note: AuditNote
    ) async throws -> AdministrationReply {
        guard let id = InstanceIdentifier(text) else {
            throw GatewayError(.notFound, "No instance \(text): `admin instances` shows them.")
        }
        if withdrawal == .wipe, !confirmed, let record = instances[id] {
            try Self.check(record, admits: withdrawal)
            return .needsConfirmation(await entries(of: [record]))
        }
        let now = clock()
        let withdrawn: InstanceChange<Void> = try await commit(id, audit: note.owned(by: instances[id])) { record in
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
        do { try await settle(withdrawn) } catch { return AdministrationReply.done.told(GatewayError(error)) }
        guard withdrawal == .unblock || withdrawal == .unlock else { return .done }
        return remaining(withdrawn.record).map { .warned(.done, $0) } ?? .done
    }

    /// Why an instance is still withdrawn; nil if it is not.
    private func remaining(_ record: InstanceRecord) -> String? {
        let entitled = directory.versions(for: record)
        switch ConfigurationBuilder.status(of: record, entitled: entitled) {
        case (.active, _): return nil
        case (_, .appVersionNotEntitled):
            let (version, others) = (record.version ?? "", entitled.map(\.description).joined(separator: ", "))
            return "It is still locked: its user is not entitled to its version \(version), but to \(others)."
        case (let status, _): return "It is still \(status.rawValue)."
        }
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
        let record = try await known(presented)
        let standing = record.standing(of: presented.serial)
        try standing.checkAccepted()
        contacts.note(record.name.instance, at: clock())
        guard standing == .renewed else { return record }
        return try await change(record.name.instance, audit: nil) { $0.adopt(presented.serial) }.record
    }

    /// As ``admitted(_:)``, but for no instance that was wiped or denied.
    func admittedInForce(_ presented: PresentedCertificate) async throws -> InstanceRecord {
        try await checkInForce(presented)
        return try await admitted(presented)
    }

    /// - Throws: `forbidden` if the instance that a certificate names was wiped or denied; `unauthorized` if it is not
    ///   known.
    func checkInForce(_ presented: PresentedCertificate) async throws {
        guard try await !hasEnded(presented) else { throw GatewayError(.forbidden, "The instance is withdrawn.") }
    }

    /// The record of the instance that a certificate names. If the instance or the certificate is not known, another
    /// gateway may have just made it, so the store is followed first.
    func known(_ presented: PresentedCertificate) async throws -> InstanceRecord {
        let id = presented.name.instance
        if instances[id]?.standing(of: presented.serial) ?? .unknown == .unknown { try await catchUpForCertain() }
        guard let record = instances[id], record.name == presented.name else {
            throw GatewayError(.unauthorized, "The instance is not known here.")
        }
        return record
    }

    /// The relay saw a renewed certificate: the previous one is refused from now on.
    func sawAtRelay(_ presented: PresentedCertificate) async {
        // If the store fails, the next use, here or at the control plane, tries again.
        _ = try? await admitted(presented)
    }

    /// Whether the instance that a certificate names was wiped or denied, and the certificate is in force, or has expired
    /// within 30 days.
    func hasEnded(_ presented: PresentedCertificate) async throws -> Bool {
        let record = try await known(presented)
        guard clock() < presented.end.addingTimeInterval(CertificateAuthority.Lifetime.renewalGrace) else {
            return false
        }
        let status = status(of: record)
        return status == .wiped || status == .denied
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
