internal import Crypto
internal import Foundation
internal import SallyportCore
internal import SallyportWire
internal import X509

extension GatewayData {
    /// Carries out one command as one transaction. The reply contains the error if it failed.
    package func perform(_ command: AdministrationCommand, by actor: AuditActor) async -> AdministrationReply {
        do throws(GatewayError) { return try await carryOut(command, by: actor) } catch {
            return .failure(.init(name: error.code.description, message: error.message))
        }
    }

    /// Carries out one command as one transaction, in which its entry in the audit trail is written too. A command that
    /// does nothing, since it is refused or asks for a confirmation, has an entry as well.
    func carryOut(
        _ command: AdministrationCommand, by actor: AuditActor
    ) async throws(GatewayError) -> AdministrationReply {
        do {
            guard var event = AuditEvent(command, by: actor, at: clock()) else { return try await listed(command) }
            event[.gateway] = settings.name
            return try await audited(event) { try await performed(command, AuditNote(event)) }
        } catch {
            throw GatewayError(error)
        }
    }

    private func performed(_ command: AdministrationCommand, _ note: AuditNote) async throws -> AdministrationReply {
        switch command {
        case .addRealm(_, let kdc):
            let reply = try await changed(by: command, note)
            guard reply == .done, let warning = directory.warning(ofKDC: try Directory.kdc(kdc)) else { return reply }
            return .warned(reply, warning)
        case .issueKey(let user, let entitlement): return .link(try await issueKey(user, entitlement, note))
        case .revokeKeys(let which): return .revoked(try await revokeKeys(which, note))
        case .authority(let action): return try await perform(action, note)
        case .removeGateway(let name): return try await removeGateway(name, note)
        case .removeRelay(let name): return try await removeRelay(named: name, note)
        case .invite(let request) where request.hasPrefix(RelayRequest.prefix):
            return try await relayInvitation(for: request, note)
        case .invite(let request): return .invitation(try await invitation(for: request, note))
        case .withdraw(let instance, let withdrawal, let confirmed):
            return try await withdraw(instance, withdrawal, confirmed: confirmed, note)
        case .apply(let yaml, let prune, _, let confirmed):
            return try await apply(Declaration(yaml: yaml), prune: prune, confirmed: confirmed, note)
        case .audit(let request): return .audit(try await answer(request, note))
        default: return try await changed(by: command, note)
        }
    }

    private func apply(
        _ declaration: Declaration, prune: Bool, confirmed: Bool, _ note: AuditNote
    ) async throws -> AdministrationReply {
        try await revise(note) { directory in
            let new = try directory.applying(declaration, prune: prune)
            return DirectoryEdit(directory: new, isConfirmed: confirmed, changes: directory.difference(to: new))
        } reply: {
            .changes($0.changes)
        }
    }

    private func changed(
        by command: AdministrationCommand, _ note: AuditNote
    ) async throws -> AdministrationReply {
        try await revise(note) { directory in
            var new = directory
            let confirmed = try new.apply(command)
            return DirectoryEdit(directory: new, isConfirmed: confirmed)
        } reply: { _ in
            .done
        }
    }

    /// As ``Directory/checkLengths(after:authority:)`` takes it.
    private var authorityLength: Int { authorities.all.map(\.count).max() ?? 0 }

    /// What a declaration would change.
    func preview(of declaration: Declaration, prune: Bool) throws -> [String] {
        let new = try directory.applying(declaration, prune: prune)
        try new.checkLengths(after: directory, authority: authorityLength)
        try places.with(new).check(after: places)
        return directory.difference(to: new)
    }

    /// Changes the directory, unless instances would end by it and that is not confirmed; then the reply is a question.
    private func revise(
        _ note: AuditNote, _ edit: @escaping @Sendable (Directory) throws -> DirectoryEdit,
        reply: (DirectoryEdit) -> AdministrationReply
    ) async throws -> AdministrationReply {
        let (authority, places) = (authorityLength, places)
        let checked: @Sendable (Directory) throws -> DirectoryEdit = { directory in
            let edited = try edit(directory)
            try edited.directory.checkLengths(after: directory, authority: authority)
            try places.with(edited.directory).check(after: places.with(directory))
            return edited
        }
        switch try await store.revise(knownDirectory, instances, at: clock(), audit: note, checked) {
        case .done(let revision, let edit):
            return await reply(edit).told(enforce(revision))
        case .unconfirmed(let ending):
            return .needsConfirmation(await entries(of: ending))
        }
    }
}
