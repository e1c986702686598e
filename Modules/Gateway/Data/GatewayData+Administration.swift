internal import Crypto
internal import Foundation
internal import SallyportCore
internal import SallyportSecureStore
internal import SallyportWire
internal import X509

extension GatewayData {
    /// Carries out one command as one transaction. The reply contains the error if it failed.
    package func perform(_ command: AdministrationCommand) async -> AdministrationReply {
        do throws(GatewayError) { return try await carryOut(command) } catch {
            return .failure(.init(name: error.code.description, message: error.message))
        }
    }

    /// Carries out one command as one transaction.
    func carryOut(_ command: AdministrationCommand) async throws(GatewayError) -> AdministrationReply {
        do { return try await performed(command) } catch { throw GatewayError(error) }
    }

    private func performed(_ command: AdministrationCommand) async throws -> AdministrationReply {
        if let reply = try listed(command) { return reply }
        switch command {
        case .addRealm(_, let kdc):
            let reply = try await changed(by: command)
            guard reply == .done, let warning = directory.warning(ofKDC: try Directory.kdc(kdc)) else { return reply }
            return .warned(warning)
        case .issueKey(let user, let entitlement): return .link(try await issueKey(user, entitlement))
        case .revokeKeys(let which): return .revoked(try await revokeKeys(which))
        case .authority(let action): return try await perform(action)
        case .withdraw(let instance, let withdrawal, let confirmed):
            return try await withdraw(instance, withdrawal, confirmed: confirmed)
        case .apply(let yaml, let prune, let dryRun, let confirmed):
            let new = try directory.applying(Declaration(yaml: yaml), prune: prune)
            let changes = directory.difference(to: new)
            if dryRun { return .changes(changes) }
            return try await replace(with: new, confirmed: confirmed) ?? .changes(changes)
        default: return try await changed(by: command)
        }
    }

    private func changed(by command: AdministrationCommand) async throws -> AdministrationReply {
        var new = directory
        let confirmed = try new.apply(command)
        return try await replace(with: new, confirmed: confirmed) ?? .done
    }

    /// Puts a new directory in place, unless instances would lose every version and that is not confirmed.
    private func replace(with new: Directory, confirmed: Bool) async throws -> AdministrationReply? {
        let lost = directory.grantsLost(in: new)
        let losing = lost.isEmpty ? [] : instances.values.filter { $0.ended == nil && lost.contains($0.grant) }
        guard losing.isEmpty || confirmed else {
            return .needsConfirmation(losing.map(entry).sorted { $0.instance < $1.instance })
        }
        try await keep(new, losing: lost, ended: losing.map { Self.ended($0, under: new, at: clock()) })
        return nil
    }

    /// Ends an instance for good: wiped if its user was removed, denied if the user has lost the application.
    private static func ended(_ record: InstanceRecord, under new: Directory, at now: Date) -> InstanceRecord {
        var record = record
        record.end(new.user(named: record.user, record.userID) == nil ? .wiped : .denied, at: now)
        return record
    }

    /// Stores a new directory in one transaction. It is in memory at once, so that the second of two simultaneous
    /// changes sees the first.
    ///
    /// - Parameters:
    ///   - lost: the grants whose unused access keys are destroyed.
    ///   - ended: the instances that had those grants, in their new state.
    private func keep(_ new: Directory, losing lost: Set<Grant>, ended: [InstanceRecord]) async throws {
        let before = (directory, instances: ended.map { instances[$0.name.instance] })
        directory = new
        for record in ended { instances[record.name.instance] = record }
        do {
            try await store.write { [collections] transaction in
                try transaction.set(new, for: "directory", in: collections.directory)
                for record in ended {
                    try transaction.set(record, for: record.name.instance.description, in: collections.instances)
                }
                try Self.destroyKeys(of: lost, in: transaction, collections)
            }
        } catch {
            if directory == new {
                directory = before.0
                for (record, old) in zip(ended, before.instances) where instances[record.name.instance] == record {
                    instances[record.name.instance] = old
                }
            }
            throw error
        }
        tell(.directory)
    }

    /// A used key's record stays, so that a later second use is told the reason of its refusal.
    private static func destroyKeys(
        of lost: Set<Grant>, in transaction: WriteTransaction, _ collections: Collections
    ) throws {
        guard !lost.isEmpty else { return }
        for (digest, record) in try transaction.all(in: collections.keys) {
            guard record.use == nil, lost.contains(record.grant) else { continue }
            try transaction.remove(digest, from: collections.keys)
        }
    }
}
