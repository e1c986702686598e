internal import Crypto
internal import Foundation
internal import SallyportCore
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
        if let reply = try await listed(command) { return reply }
        switch command {
        case .addRealm(_, let kdc):
            let reply = try await changed(by: command)
            guard reply == .done, let warning = directory.warning(ofKDC: try Directory.kdc(kdc)) else { return reply }
            return .warned(warning)
        case .issueKey(let user, let entitlement): return .link(try await issueKey(user, entitlement))
        case .revokeKeys(let which): return .revoked(try await revokeKeys(which))
        case .authority(let action): return try await perform(action)
        case .invite(let request):
            return .invitation(
                request.hasPrefix(RelayRequest.prefix)
                    ? try await relayInvitation(for: request) : try invitation(for: request))
        case .removeRelay(let name):
            try await removeRelay(named: name)
            return .done
        case .withdraw(let instance, let withdrawal, let confirmed):
            return try await withdraw(instance, withdrawal, confirmed: confirmed)
        case .apply(let yaml, let prune, let dryRun, let confirmed):
            return try await apply(Declaration(yaml: yaml), prune: prune, dryRun: dryRun, confirmed: confirmed)
        default: return try await changed(by: command)
        }
    }

    private func apply(
        _ declaration: Declaration, prune: Bool, dryRun: Bool, confirmed: Bool
    ) async throws -> AdministrationReply {
        if dryRun { return .changes(directory.difference(to: try directory.applying(declaration, prune: prune))) }
        return try await revise { directory in
            let new = try directory.applying(declaration, prune: prune)
            return DirectoryEdit(directory: new, isConfirmed: confirmed, changes: directory.difference(to: new))
        } reply: {
            .changes($0.changes)
        }
    }

    private func changed(by command: AdministrationCommand) async throws -> AdministrationReply {
        try await revise { directory in
            var new = directory
            let confirmed = try new.apply(command)
            return DirectoryEdit(directory: new, isConfirmed: confirmed)
        } reply: { _ in
            .done
        }
    }

    /// Changes the directory, unless instances would end by it and that is not confirmed; then the reply is a question.
    private func revise(
        _ edit: @escaping @Sendable (Directory) throws -> DirectoryEdit,
        reply: (DirectoryEdit) -> AdministrationReply
    ) async throws -> AdministrationReply {
        switch try await store.revise(knownDirectory, at: clock(), edit) {
        case .done(let revision, let edit):
            try await catchUp(to: revision)
            return reply(edit)
        case .unconfirmed(let ending):
            return .needsConfirmation(ending.map(entry).sorted { $0.instance < $1.instance })
        }
    }
}
