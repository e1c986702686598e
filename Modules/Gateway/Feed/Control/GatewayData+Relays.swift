internal import Foundation
internal import HashTreeCollections
internal import SallyportCore
internal import SallyportLoading
internal import SallyportWire

// The relays that run on machines of their own.
extension GatewayData {
    /// Enrols a relay.
    ///
    /// - Parameter text: the request, as the relay printed it.
    /// - Returns: the invitation that answers it.
    func relayInvitation(
        for text: String, _ note: AuditNote
    ) async throws -> AdministrationReply {
        let request = try RelayRequest(text)
        guard let host = try? Host(request.name) else {
            throw GatewayError(.invalid, "The request does not name the relay by a host name.")
        }
        // Of this one, which may not have told the fleet of itself yet; of the others, the store knows.
        guard host.bareText != settings.name else { throw RelayTable.hasNameOfGateway(host.bareText) }
        guard Route.isClusterName(request.cluster) else {
            throw GatewayError(.invalid, "The request does not name a cluster.")
        }
        if request.cluster != Route.mainCluster, directory.clusters[request.cluster] == nil {
            throw GatewayError(
                .notFound, "No cluster \(request.cluster) is set: `admin cluster set` sets one, with this relay in it.")
        }
        let id = RelayIdentifier()
        let certificates = try issued(request.certificates, to: id, named: host.bareText)
        let record = RelayRecord(
            id: id, name: host.bareText, cluster: request.cluster, added: clock(),
            serials: [CertificateAuthority.serial(ofDER: Array(certificates.client))])
        let places = places
        let trouble = try await reviseRelays(note.with(.target, record.name)) { table in
            let before = places.with(table)
            try table.add(record)
            try places.with(table).check(after: before)
        }
        let invitation = try RelayInvitation(id: id, certificates: certificates, controls: controls).text
        let invited = AdministrationReply.InvitedRelay(
            invitation: invitation, name: record.name, cluster: record.cluster)
        return AdministrationReply.relayInvitation(invited).told(trouble)
    }

    func removeRelay(named name: String, _ note: AuditNote) async throws -> AdministrationReply {
        let trouble = try await reviseRelays(note) { _ = try $0.remove(named: name) }
        return AdministrationReply.done.told(trouble)
    }

    /// - Returns: as ``enforce(_:)`` does.
    @discardableResult
    private func reviseRelays(
        _ note: AuditNote, _ edit: @escaping @Sendable (inout RelayTable) throws -> Void
    ) async throws -> GatewayError? {
        let revision = try await store.reviseRelays(audit: note) { table in
            var table = table
            try edit(&table)
            return table
        }
        guard let revision else { return nil }
        return await enforce(revision)
    }

    private func maintenance(_ action: String, _ target: String) -> AuditNote {
        .maintenance(action, at: clock()).with(.gateway, settings.name).with(.target, target)
    }

    /// HOST:PORT of the fleet's control gateways, this one among them: those that relays follow, and report to.
    var controls: [String] {
        let own = (try? settings.control.description) ?? settings.name
        return Set(gateways.filter { $0.id != settings.id }.map(\.control.description) + [own]).sorted()
    }
}

// MARK: What relays ask for

extension GatewayData {
    /// The record of a relay that shows its certificate. One that is not known may have been enrolled by another gateway a
    /// moment ago, so the store is followed first.
    ///
    /// - Throws: `forbidden` for a relay that was removed, or whose certificate was replaced; `expired`; `unauthorized`
    ///   if the certificate's authority is not accepted any more.
    func admitted(_ presented: PresentedRelay) async throws -> RelayRecord {
        if let record = try judged(presented) { return record }
        try await catchUpForCertain()
        guard let record = try judged(presented) else { throw Self.relayIsRefused }
        return record
    }

    /// Whether a relay is there, and has not replaced its certificate.
    func knows(_ presented: PresentedRelay) -> Bool { relays.record(of: presented) != nil }

    /// Whether a relay would still be admitted that was, so that what it has begun may go on.
    func admits(_ presented: PresentedRelay) -> Bool { (try? judged(presented)) != nil }

    /// The one judgement of a relay, at each of its requests and while it follows the feed.
    ///
    /// - Returns: nil if no relay is known here by this certificate.
    private func judged(_ presented: PresentedRelay) throws(GatewayError) -> RelayRecord? {
        let now = clock()
        guard authorities.accepted.accept(presented, at: now) else {
            throw GatewayError(.unauthorized, "The authority of the relay's certificate is not accepted any more.")
        }
        guard !presented.isExpired(at: now) else {
            throw GatewayError(.expired, "The relay's certificate has expired.")
        }
        return relays.record(of: presented)
    }

    private static var relayIsRefused: GatewayError {
        GatewayError(.forbidden, "The relay was removed, or its certificate was replaced.")
    }

    /// Notes where a relay listens, which configurations then say. A change above the relay's pace is left out: the relay
    /// says it again with its next report, and nothing else of its reports is held up.
    func note(_ presented: PresentedRelay, listensOn port: UInt16) async throws {
        guard let record = relays.relay(presented.id), record.port != port, port != 0,
            relayPorts.takes(presented.id, at: clock())
        else { return }
        do {
            try await reviseRelays(maintenance("relay.port", record.name)) { table in
                guard let place = table.relays.firstIndex(where: { $0.id == presented.id }) else { return }
                table.relays[place].port = port
            }
        } catch {
            // Or else a store that is away would use up the pace.
            relayPorts.charges(presented.id, -1)
            throw error
        }
    }

    /// Issues certificates for a relay's new keys.
    func renew(_ presented: PresentedRelay, _ request: RelayCertificateRequest) async throws -> RelayCertificates {
        let record = try await admitted(presented)
        let certificates = try issued(request, to: record.id, named: record.name)
        let serial = CertificateAuthority.serial(ofDER: Array(certificates.client))
        try await reviseRelays(maintenance("relay.renew", record.name)) { table in
            // Another gateway may have replaced the certificate since.
            guard let place = table.relays.firstIndex(where: { $0.id == presented.id }),
                table.relays[place].serials.contains(presented.serial)
            else { throw Self.relayIsRefused }
            table.relays[place].renew(serial, replacing: presented.serial)
        }
        return certificates
    }

    private func issued(
        _ request: RelayCertificateRequest, to id: RelayIdentifier, named name: String
    ) throws -> RelayCertificates {
        let (client, server) = (
            try CertificateAuthority.key(ofRequest: Array(request.client)),
            try CertificateAuthority.key(ofRequest: Array(request.server))
        )
        guard client != server else { throw GatewayError(.invalid, "A relay has a key for each certificate.") }
        return RelayCertificates(
            client: Data(try authority.relay(id, key: client, now: clock())),
            server: Data(try authority.server(host: name, key: server, now: clock())),
            trust: authorityDERs.map { Data($0) })
    }

    /// A relay has seen renewed certificates in use: those that they replace are refused from now on.
    ///
    /// - Returns: those that the store has not taken, for the relay to report again: an app that keeps one tunnel open
    ///   may show its certificate no second time.
    func adopt(_ renewals: [FeedReport.Renewal]) async -> [FeedReport.Renewal] {
        // Another gateway may have issued the certificate a moment ago.
        let areKnown = renewals.allSatisfy { standing(of: $0) != .unknown }
        let isCertain = if areKnown { true } else { (try? await catchUpForCertain()) != nil }
        var missed: [FeedReport.Renewal] = []
        for (place, renewal) in renewals.enumerated() {
            switch standing(of: renewal) {
            // It was taken before.
            case .current, .retired: continue
            case .unknown:
                if !isCertain { missed.append(renewal) }
            case .renewed:
                do { _ = try await change(renewal.name.instance, audit: nil) { $0.adopt(renewal.serial) } } catch {
                    missed.append(renewal)
                    // The report's answer does not wait for a store that is away once for each renewal.
                    if GatewayError(error).code == .unreachable { return missed + renewals[(place + 1)...] }
                }
            }
        }
        return missed
    }

    private func standing(of renewal: FeedReport.Renewal) -> InstanceRecord.Standing {
        guard let record = instances[renewal.name.instance], record.name == renewal.name else { return .unknown }
        return record.standing(of: renewal.serial)
    }
}
