internal import Foundation
internal import SallyportSecureStore

extension EmbeddedStore {
    func register(_ gateway: GatewayRecord, at now: Date) async throws -> Int64? {
        let id = gateway.id.description
        let presence = GatewayPresence(seen: now, applied: newest)
        let revision = try await write { transaction, collections in
            try transaction.set(presence, for: id, in: collections.presences)
            let old = try transaction.value(for: id, in: collections.gateways)
            guard old != gateway else { return ((), nil) }
            if old?.hosts != gateway.hosts {
                try transaction.value(for: "relays", in: collections.relays)?.check(besideGatewayNamed: gateway.hosts)
            }
            try transaction.set(gateway, for: id, in: collections.gateways)
            return ((), try transaction.advance(collections) { $0.gateways = $0.newest })
        }.revision
        presences[gateway.id] = presence
        return revision
    }

    func note(_ presence: GatewayPresence, of gateway: GatewayIdentifier) async throws -> Bool {
        let id = gateway.description
        guard try store.read({ try $0.value(for: id, in: collections.gateways) }) != nil else { return false }
        presences[gateway] = presence
        guard presence.ended != nil else { return true }
        try await store.write { [collections] in try $0.set(presence, for: id, in: collections.presences) }
        return true
    }

    func gateways() throws -> [ListedGateway] {
        try store.read { snapshot in
            try snapshot.all(in: collections.gateways).map { id, record in
                let stored = try snapshot.value(for: id, in: collections.presences)
                return ListedGateway(
                    record: record,
                    presence: presences[record.id] ?? stored ?? GatewayPresence(seen: .distantPast, applied: 0))
            }
        }
    }

    func remove(_ gateway: GatewayIdentifier, audit note: AuditNote) async throws -> Int64? {
        let id = gateway.description
        return try await audited { transaction, collections in
            guard try transaction.value(for: id, in: collections.gateways) != nil else {
                return AuditedChange(value: (), event: note.event(changed: false))
            }
            try transaction.remove(id, from: collections.gateways)
            try transaction.remove(id, from: collections.presences)
            let revision = try transaction.advance(collections) { $0.gateways = $0.newest }
            return AuditedChange(value: (), revision: revision, event: note.event())
        }.revision
    }
}
