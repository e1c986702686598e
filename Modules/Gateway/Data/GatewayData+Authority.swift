internal import Foundation
internal import HashTreeCollections
internal import SallyportBase
internal import SallyportWire

// Rotation and revocation: which authority issues certificates, which are accepted, and whose configurations are
// trusted.
extension GatewayData {
    func perform(_ action: AuthorityAction, _ note: AuditNote) async throws -> AdministrationReply {
        let trouble: GatewayError?
        switch action {
        case .status: return try await authorityStatus()
        case .rotate: trouble = try await announceAuthority(note)
        case .finish(let confirmed):
            try await refresh()
            // If it is confirmed, it does not matter which instances were told.
            if !confirmed { try await boundAnnouncement(at: clock()) }
            trouble = try await finishRotation(confirmed: confirmed, note)
        case .revoke(let confirmed):
            // Whether another gateway revokes at the same time is judged by the generation in force.
            try await catchUp()
            let generation = authorities.record.signers
            try await renewCheckpoint(generation: generation + 1)
            trouble = try await revoke(generation, confirmed: confirmed, note)
            // A checkpoint that has the entry of the revocation. If it cannot be made now, it is made later.
            _ = try? await checkpoint()
        }
        return AdministrationReply.authority(authorityEntry).told(trouble)
    }

    func authorityStatus() async throws -> AdministrationReply {
        try await refresh()
        return .authority(authorityEntry)
    }

    /// Creates the next authority, and announces it in every configuration from now on.
    private func announceAuthority(_ note: AuditNote) async throws -> GatewayError? {
        let (name, now) = (settings.name, clock())
        let trouble = try await revise(note) { record in try record.announcing(under: name, at: now) }
        // The authority is announced: a failure from here on does not make the command one that has failed.
        do { try await boundAnnouncement(at: now) } catch { return trouble ?? GatewayError(error) }
        return trouble
    }

    /// Notes the epoch up to which configurations may not name the announced authority, unless it is known already.
    /// Each epoch that is taken once the announcement is in force comes with a configuration that names the authority,
    /// so the greatest one before is looked for only then. If it cannot be read, the upkeep does it later.
    private func boundAnnouncement(at now: Date) async throws {
        guard let next = authorities.record.next, next.epoch == AuthorityRecord.Next.unbounded else { return }
        let newest = try await store.newestEpoch()
        try await revise(.maintenance("authority.epoch", at: now)) { record in
            // Another gateway may have noted it meanwhile, or have announced another authority.
            guard var announced = record.next, announced.identity == next.identity,
                announced.epoch == AuthorityRecord.Next.unbounded
            else { return nil }
            announced.epoch = newest
            var record = record
            record.next = announced
            return record
        }
    }

    /// Changes the authorities durably; nothing if `edit` returns nil.
    ///
    /// - Returns: as ``enforce(_:)`` does.
    @discardableResult
    private func revise(
        _ note: AuditNote, _ edit: @escaping @Sendable (AuthorityRecord) throws -> AuthorityRecord?
    ) async throws -> GatewayError? {
        guard let revision = try await store.revise(audit: note.with(.gateway, settings.name), edit) else { return nil }
        return await enforce(revision)
    }

    /// Puts the announced authority in force. From now on, only instances that know of it accept the gateway.
    private func finishRotation(confirmed: Bool, _ note: AuditNote) async throws -> GatewayError? {
        guard let next = authorities.record.next else {
            throw GatewayError(.invalid, "No authority is announced: `gateway authority rotate` announces one.")
        }
        let waiting = instancesWithout(next)
        guard waiting.isEmpty || confirmed else {
            let names = waiting.prefix(10).map { "\($0.name.instance) of \($0.user)" }.sorted().joined(separator: ", ")
            throw GatewayError(
                .needsConfirmation,
                "\(waiting.count) of the instances have not heard of the next authority, and would need a new "
                    + "activation: \(names)\(waiting.count > 10 ? ", …" : ""). `--yes` does it.")
        }
        return try await finish(next, note)
    }

    @discardableResult
    private func finish(_ next: AuthorityRecord.Next, _ note: AuditNote) async throws -> GatewayError? {
        let now = clock()
        return try await revise(note) { record in
            // Another gateway may have finished it meanwhile.
            guard record.next?.identity == next.identity else { return nil }
            return record.finished(at: now)
        }
    }

    /// Begins another generation of signers, with a new certificate of the server, and drops former authorities.
    ///
    /// - Parameter generation: the one that is revoked.
    private func revoke(
        _ generation: Int64, confirmed: Bool, _ note: AuditNote
    ) async throws -> GatewayError? {
        try await revise(note) { record in
            // Another gateway may have revoked it meanwhile. The audit trail's checkpoint is of the next generation,
            // not of a later one.
            guard record.signers == generation else { return nil }
            guard record.former.isEmpty || confirmed else {
                throw GatewayError(
                    .needsConfirmation,
                    "Instances that have not renewed their certificate since the last rotation would need a new "
                        + "activation. `--yes` does it.")
            }
            var record = record
            record.signers += 1
            record.former = []
            return record
        }
    }

    /// The instances that may return and have stored no configuration that names the next authority.
    func instancesWithout(_ next: AuthorityRecord.Next) -> [InstanceRecord] {
        let horizon = clock().addingTimeInterval(-AuthorityRecord.overlap)
        return instances.values.filter { record in
            record.ended == nil && record.stored <= next.epoch && (record.lastSeen ?? record.activated) > horizon
        }
    }

    /// Makes the changes whose time has come: puts an announced authority in force, and stops accepting a former one.
    func moveAuthorities() async throws {
        let now = clock()
        if let next = authorities.record.next,
            now.timeIntervalSince(next.announced) >= AuthorityRecord.overlap
        {
            try await finish(next, .maintenance("authority.finish", at: now))
            return
        }
        // What else is due does not wait for it.
        try? await boundAnnouncement(at: now)
        guard authorities.record.former.contains(where: { $0.until <= now }) else { return }
        // The newest checkpoint may be signed under an authority that is dropped now.
        try await renewCheckpoint(generation: authorities.record.signers)
        try await revise(.maintenance("authority.drop", at: now)) { record in
            var record = record
            record.former.removeAll { $0.until <= now }
            return record
        }
    }
}
