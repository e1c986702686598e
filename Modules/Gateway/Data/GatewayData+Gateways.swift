internal import Foundation
internal import SallyportCore
internal import SallyportWire

// The gateways of the fleet, and this one among them.
extension GatewayData {
    /// What the others must know of this gateway; nil before it has listened.
    private var ownRecord: GatewayRecord? {
        guard let id = settings.id, let control = try? settings.control else { return nil }
        return GatewayRecord(
            id: id, name: settings.name, control: control, relay: try? settings.relay, tokenKeys: readyTokenKeys.own)
    }

    /// Tells the fleet of this gateway.
    func register() async throws {
        guard let record = ownRecord else { return }
        if let revision = try await store.register(record, at: clock()) { try await catchUp(to: revision) }
    }

    /// Shows that this gateway runs, and tells the fleet what has changed of it.
    func showPresence() async throws {
        guard let record = ownRecord else { return }
        guard gateways.contains(record),
            try await store.note(GatewayPresence(seen: clock(), applied: followed), of: record.id)
        else { return try await register() }
    }

    /// This gateway ends in order.
    func leaveFleet() async throws {
        guard let id = settings.id else { return }
        let now = clock()
        _ = try await store.note(GatewayPresence(seen: now, applied: followed, ended: now), of: id)
    }
}

// MARK: Commands

extension GatewayData {
    func gatewayEntries() async throws -> [AdministrationReply.GatewayEntry] {
        let (now, own) = (clock(), settings.id)
        return try await store.gateways()
            .sorted { $0.record.control.description < $1.record.control.description }
            .map { gateway in
                .init(
                    id: gateway.record.id.description, name: gateway.record.name,
                    control: gateway.record.control.description, relay: gateway.record.relay?.description ?? "none",
                    state: gateway.state(at: now), seen: gateway.presence.seen, applied: gateway.presence.applied,
                    isThis: gateway.record.id == own)
            }
    }

    /// Removes a gateway that has ended.
    ///
    /// One that runs would tell the fleet of itself again.
    func removeGateway(_ name: String, _ note: AuditNote) async throws -> AdministrationReply {
        let found = try await store.gateways().filter { $0.record.isNamed(name) }
        guard let gateway = found.first else {
            throw GatewayError(.notFound, "No gateway \(name): `admin gateway list` shows them.")
        }
        guard found.count == 1 else {
            throw GatewayError(
                .invalid, "\(found.count) gateways have the name \(name): give the identifier of one, or its HOST:PORT."
            )
        }
        guard !gateway.isRunning(at: clock()) else {
            throw GatewayError(
                .invalid,
                "Gateway \(name) runs: it can be removed 30 seconds after it was seen last, or once it has ended.")
        }
        guard let revision = try await store.remove(gateway.record.id, audit: note) else { return .done }
        return await AdministrationReply.done.told(enforce(revision))
    }
}

extension ListedGateway {
    fileprivate func state(at now: Date) -> String {
        if presence.ended != nil { return "ended" }
        return isRunning(at: now) ? "running" : "silent"
    }
}

extension GatewayRecord {
    fileprivate func isNamed(_ text: String) -> Bool {
        id == GatewayIdentifier(text) || name == text || control == (try? Endpoint(text))
    }
}

// MARK: As apps are told

extension GatewaySettings {
    var control: Endpoint { get throws { try Endpoint(host: Host(name), port: controlPort) } }
    /// Nil if the gateway's role has no relay.
    var relay: Endpoint? {
        get throws { relayPort == 0 ? nil : try Endpoint(host: Host(name), port: relayPort) }
    }

    /// The relays of the fleet's gateways, this one's among them.
    func relays(of gateways: [GatewayRecord]) throws -> [Endpoint] {
        let all = try [relay] + gateways.filter { $0.id != id }.map(\.relay)
        return Set(all.compactMap(\.self)).sorted { $0.description < $1.description }
    }

    /// The control listeners of the fleet's gateways, this one's among them. It is listed when it is the only one too:
    /// an app that was activated at another gateway, which was removed since, would not know whom to ask otherwise.
    func controls(of gateways: [GatewayRecord]) throws -> [ConfigurationDocument.Gateway] {
        let own = try control
        let others = gateways.filter { $0.id != id }.map(\.control).filter { $0 != own }
        return ([own] + others).sorted { $0.description < $1.description }.map { .init($0, priority: 1) }
    }
}
