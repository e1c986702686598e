internal import Crypto
internal import Foundation
internal import SallyportBase
internal import SallyportCore
internal import SallyportWire

extension GatewayData {
    /// Makes a link for one activation.
    ///
    /// The right is judged in the transaction that adds the key, so that a removal, at another gateway of the fleet too,
    /// comes before it and refuses it, or after it and destroys the key.
    func issueKey(_ user: String, _ entitlement: String, _ note: AuditNote) async throws -> String {
        let key = AccessKey.generate()
        let (digest, id, now) = (AccessKey.digest(key, of: user), AccessKeyIdentifier(), clock())
        try await store.addKey(under: digest, known: knownDirectory, audit: note.with(.key, id.description)) {
            try $0.accessKey(id, user: user, entitlement: entitlement, issued: now)
        }
        let fingerprint = Array(SHA256.hash(data: authority.der))
        return try ActivationLink(
            gateway: Endpoint(host: Host(settings.name), port: settings.controlPort),
            authorityFingerprint: fingerprint, user: user, accessKey: Redacted(key)
        ).text
    }

    /// The recorded keys, the oldest first; those of one user if one is given, who may have been removed since.
    ///
    /// - Throws: `notFound` if no user has the name, and no key is recorded of one who had it.
    func accessKeys(of user: String?) async throws -> [AdministrationReply.AccessKeyEntry] {
        let (now, directory) = (clock(), directory)
        let records = try await store.accessKeys().filter { user == nil || $0.user == user }
        if let user, records.isEmpty, directory.users[user] == nil { throw directory.unknown(user: user) }
        let sorted = records.sorted { ($0.issued, $0.id.description) < ($1.issued, $1.id.description) }
        return sorted.map { record in
            .init(
                id: record.id.description, user: record.user, entitlement: record.entitlement.description,
                issued: record.issued, expires: record.expires, state: record.standing(at: now).rawValue,
                instance: record.use?.instance.instance.description)
        }
    }

    /// Destroys unused keys: one, or all of a user.
    ///
    /// - Returns: the number of keys destroyed.
    func revokeKeys(_ which: AdministrationCommand.KeySelection, _ note: AuditNote) async throws -> Int {
        let directory = directory
        return try await store.removeAccessKeys(audit: note) { all in
            let keys = all.filter(which.contains)
            if case .all(let user) = which, keys.isEmpty, directory.users[user] == nil {
                throw directory.unknown(user: user)
            }
            if case .one(let id) = which {
                guard let record = keys.first else {
                    throw GatewayError(.notFound, "No access key \(id): `admin key list` shows them.")
                }
                if let instance = record.use?.instance.instance {
                    throw GatewayError(.invalid, "The key was used: `admin wipe \(instance)` takes back what it made.")
                }
            }
            return Set(keys.filter { $0.use == nil }.map(\.id))
        }
    }

    /// Removes the records of keys that are older than ``AccessKeyRecord/memory``.
    func forgetOldKeys() async throws {
        let now = clock()
        let oldest = now.addingTimeInterval(-AccessKeyRecord.memory)
        let note = AuditNote.maintenance("key.forget", at: now).with(.gateway, settings.name)
        _ = try await store.removeAccessKeys(audit: note) { Set($0.filter { $0.issued < oldest }.map(\.id)) }
    }
}

extension Directory {
    /// The record of a new access key.
    ///
    /// - Throws: `notFound` if there is no such user, or the user has no right to the application.
    fileprivate func accessKey(
        _ id: AccessKeyIdentifier, user: String, entitlement: String, issued: Date
    ) throws(GatewayError) -> AccessKeyRecord {
        guard let owner = users[user] else {
            throw GatewayError(.notFound, "No user \(user): `admin user list` shows them.")
        }
        guard let identifier = EntitlementIdentifier(entitlement), !versions(of: entitlement, for: owner).isEmpty else {
            throw GatewayError(
                .notFound, "User \(user) is entitled to no version of \(entitlement): `admin entitle` entitles.")
        }
        return AccessKeyRecord(id: id, user: user, userID: owner.id, entitlement: identifier, issued: issued)
    }
}

extension AdministrationCommand.KeySelection {
    fileprivate func contains(_ record: AccessKeyRecord) -> Bool {
        switch self {
        case .one(let id): record.id == AccessKeyIdentifier(id)
        case .all(let user): record.user == user
        }
    }
}
