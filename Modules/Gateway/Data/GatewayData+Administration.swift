internal import Crypto
internal import Foundation
internal import SallyportCore
internal import SallyportSecureStore
internal import SallyportWire
internal import X509

extension GatewayData {
    /// Carries out one command, as one transaction.
    package func perform(_ command: AdministrationCommand) async -> AdministrationReply {
        do {
            return try await performed(command)
        } catch let error as GatewayError {
            return .failure(.init(name: error.code.description, message: error.message))
        } catch {
            return .failure(.init(name: "internalFailure", message: "The gateway's store failed: \(error)"))
        }
    }

    private func performed(_ command: AdministrationCommand) async throws -> AdministrationReply {
        switch command {
        case .addRealm(_, let kdc):
            let reply = try await changed(by: command)
            guard reply == .done, let warning = directory.warning(ofKDC: try Directory.kdc(kdc)) else { return reply }
            return .warned(warning)
        case .listRealms:
            return .realms(directory.realms.sorted { $0.key < $1.key }.map { .init(realm: $0.key, kdcs: $0.value) })
        case .listUsers: return .users(directory.users.keys.sorted())
        case .show: return .configuration(try directory.declaration.yaml())
        case .listInstances: return .instances(entries())
        case .issueKey(let user, let entitlement): return .link(try await issueKey(user, entitlement))
        case .withdraw(let instance, let withdrawal):
            try await withdraw(instance, withdrawal)
            return .done
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
        let losing = instances.values.filter { record in
            record.withdrawal != .wiped && !directory.versions(for: record).isEmpty
                && new.versions(for: record).isEmpty
        }
        guard losing.isEmpty || confirmed else {
            return .needsConfirmation(losing.map(entry).sorted { $0.instance < $1.instance })
        }
        try await keep(new, ends: ends(under: new))
        return nil
    }

    /// Instances whose right to be answered begins or stops to run out.
    private func ends(under new: Directory) -> [InstanceRecord] {
        let now = clock()
        return instances.values.compactMap { record in
            let isOver = record.withdrawal == .wiped || new.versions(for: record).isEmpty
            guard isOver != (record.ended != nil) else { return nil }
            var record = record
            record.ended = isOver ? now : nil
            return record
        }
    }

    /// One transaction; in memory at once, so that of two changes at once the second sees the first.
    private func keep(_ new: Directory, ends: [InstanceRecord]) async throws {
        let before = (directory, ends: ends.map { instances[$0.name.instance]?.ended })
        directory = new
        for record in ends { instances[record.name.instance]?.ended = record.ended }
        do {
            try await store.write { [collections] transaction in
                try transaction.set(new, for: "directory", in: collections.directory)
                for record in ends {
                    try transaction.set(record, for: record.name.instance.description, in: collections.instances)
                }
            }
        } catch {
            if directory == new {
                directory = before.0
                for (record, end) in zip(ends, before.ends) { instances[record.name.instance]?.ended = end }
            }
            throw error
        }
        tell(.directory)
    }

    private func issueKey(_ user: String, _ entitlement: String) async throws -> String {
        guard directory.users[user] != nil else {
            throw GatewayError(.notFound, "No user \(user): `admin user list` shows them.")
        }
        guard let id = EntitlementIdentifier(entitlement), !directory.versions(of: entitlement, for: user).isEmpty
        else {
            throw GatewayError(
                .notFound, "User \(user) is entitled to no version of \(entitlement): `admin entitle` entitles.")
        }
        let key = AccessKey.generate()
        let record = AccessKeyRecord(user: user, entitlement: id, issued: clock())
        let digest = AccessKey.digest(key)
        try await store.write { [collections] in try $0.set(record, for: digest, in: collections.keys) }
        let fingerprint = Array(SHA256.hash(data: authority.der))
        return try ActivationLink(
            gateway: Endpoint(host: Host(settings.name), port: settings.controlPort),
            authorityFingerprint: fingerprint, user: user, accessKey: Redacted(key)
        ).text
    }

    private func entries() -> [AdministrationReply.InstanceEntry] {
        instances.values.map(entry).sorted { $0.instance < $1.instance }
    }

    private func entry(_ record: InstanceRecord) -> AdministrationReply.InstanceEntry {
        AdministrationReply.InstanceEntry(
            instance: record.name.instance.description, user: record.user,
            entitlement: record.name.entitlement.description, version: record.version ?? "",
            status: status(of: record).rawValue)
    }
}
