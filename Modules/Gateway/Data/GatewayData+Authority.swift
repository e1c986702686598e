internal import Foundation
internal import SallyportBase
internal import SallyportSecureStore
internal import SallyportWire

// Rotation and revocation: which authority issues certificates, which are accepted, and whose configurations are
// trusted.
extension GatewayData {
    func perform(_ action: AuthorityAction) async throws -> AdministrationReply {
        switch action {
        case .status: break
        case .rotate: try await announceAuthority()
        case .finish(let confirmed): try await finishRotation(confirmed: confirmed)
        case .revoke(let confirmed): try await revoke(confirmed: confirmed)
        }
        return .authority(authorityEntry)
    }

    /// Creates the next authority, and announces it in every configuration from now on.
    private func announceAuthority() async throws {
        var record = authorities.record
        guard record.next == nil else {
            throw GatewayError(.exists, "An authority is announced already: `--finish` puts it in force.")
        }
        guard record.former.count < AuthorityRecord.formerLimit else {
            throw GatewayError(
                .invalid, "\(AuthorityRecord.formerLimit) former authorities are still accepted, the most.")
        }
        let now = clock()
        // A name other than the present authority's, so that no verifier confuses the two.
        let suffix = Hexadecimal.text((0..<4).map { _ in UInt8.random(in: .min ... .max) })
        let identity = try CertificateAuthority.create(name: "\(settings.name) \(suffix)", now: now)
        let endorsement = try authority.endorsement(of: identity, now: now)
        // The next configuration of each instance has a higher epoch than this one.
        let epoch = max(Int64(now.timeIntervalSince1970 * 1000) - 1, newestEpoch)
        record.next = .init(identity: identity, endorsement: endorsement, announced: now, epoch: epoch)
        try await keep(record, server: server, signer: signer)
        // A configuration that was signed during this write does not name the next authority.
        let newest = newestEpoch
        if newest > epoch {
            record.next?.epoch = newest
            try await keep(record, server: server, signer: signer)
        }
        tell(.directory)
    }

    /// The highest epoch of all instances' configurations.
    private var newestEpoch: Int64 { instances.values.map(newestEpoch(of:)).max() ?? 0 }

    /// Puts the announced authority in force. From now on, only instances that know of it accept the gateway.
    private func finishRotation(confirmed: Bool) async throws {
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
        try await finish(next)
    }

    private func finish(_ next: AuthorityRecord.Next) async throws {
        let now = clock()
        var record = authorities.record
        let until = now.addingTimeInterval(AuthorityRecord.overlap)
        record.former.insert(.init(certificate: record.present.certificate, until: until), at: 0)
        (record.present, record.next) = (next.identity, nil)
        let issuing = try CertificateAuthority(next.identity)
        try await keep(
            record, server: issuing.server(host: settings.name, now: now),
            signer: issuing.signer(generation: record.signers, now: now))
        tell(.directory)
    }

    /// Begins another generation of signers, with a new certificate of the server, and drops former authorities.
    private func revoke(confirmed: Bool) async throws {
        var record = authorities.record
        guard record.former.isEmpty || confirmed else {
            throw GatewayError(
                .needsConfirmation,
                "Instances that have not renewed their certificate since the last rotation would need a new activation. "
                    + "`--yes` does it.")
        }
        let now = clock()
        record.signers += 1
        record.former = []
        try await keep(
            record, server: authority.server(host: settings.name, now: now),
            signer: authority.signer(generation: record.signers, now: now))
        tell(.directory)
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
        guard !isKeepingIdentities else { return }
        let now = clock()
        if let next = authorities.record.next,
            now.timeIntervalSince(next.announced) >= AuthorityRecord.overlap
        {
            return try await finish(next)
        }
        var record = authorities.record
        record.former.removeAll { $0.until <= now }
        guard record.former.count < authorities.record.former.count else { return }
        try await keep(record, server: server, signer: signer)
    }

    /// Stores the change before it comes into force: what a client has learned must not be taken back. One change at a
    /// time.
    func keep(_ record: AuthorityRecord, server: StoredIdentity, signer: StoredIdentity) async throws {
        guard !isKeepingIdentities else {
            throw GatewayError(.inUse, "Another change of the gateway's certificates is under way: try again.")
        }
        isKeepingIdentities = true
        defer { isKeepingIdentities = false }
        let new = try Authorities(record)
        try await store.write { [collections] transaction in
            try transaction.set(record, for: "authorities", in: collections.authorities)
            try transaction.set(server, for: "server", in: collections.identities)
            try transaction.set(signer, for: "signer", in: collections.identities)
        }
        (authorities, self.server, self.signer) = (new, server, signer)
        tell(.identities)
    }
}
