internal import FoundationEssentials
internal import HashTreeCollections
internal import SallyportCore
internal import SallyportWire

// Commands that only list.
extension GatewayData {
    /// The answer to a command that only lists something.
    func listed(_ command: AdministrationCommand) async throws -> AdministrationReply {
        switch command {
        case .listUsers: .users(directory.users.keys.sorted())
        case .listApplications: .applications(directory.applicationEntries)
        case .listServers: .servers(directory.serverEntries)
        case .listRoutes: .routes(directory.routeEntries)
        case .listClusters: .clusters(try clusterEntries())
        case .listRelays: .relays(relayEntries)
        case .listRealms:
            .realms(directory.realms.sorted { $0.key < $1.key }.map { .init(realm: $0.key, kdcs: $0.value) })
        case .listInstances: .instances(await entries(of: Array(instances.values)))
        case .listKeys(let user): .accessKeys(try await accessKeys(of: user))
        case .listGateways: .gateways(try await gatewayEntries())
        case .showFleet: .fleet(await fleetEntry())
        case .show: .configuration(try directory.declaration.yaml())
        case .apply(let yaml, let prune, dryRun: true, _):
            .changes(try preview(of: Declaration(yaml: yaml), prune: prune))
        case .authority: try await authorityStatus()
        default: throw GatewayError(.internalFailure, "The command is not one that lists.")
        }
    }

    private var relayEntries: [AdministrationReply.RelayEntry] {
        relays.relays.sorted { $0.name < $1.name }.map(AdministrationReply.RelayEntry.init)
    }

    /// As far as the store answers.
    private func fleetEntry() async -> AdministrationReply.FleetEntry {
        var fleet = AdministrationReply.FleetEntry(applied: followed, relays: relayEntries)
        do {
            fleet.revision = try await store.confirm()
            fleet.warning = await store.warning()
            fleet.gateways = try await gatewayEntries()
        } catch {
            fleet.fault = GatewayError(error).message
        }
        return fleet
    }

    /// With the relays that belong to clusters by themselves, as apps are told of them.
    private func clusterEntries() throws -> [AdministrationReply.ClusterEntry] {
        let own = try ownRelays()
        return try (directory.clusters.keys + [Route.mainCluster]).sorted().map { name in
            let relays = try ConfigurationBuilder.relays(
                declared: directory.clusters[name] ?? [], own: own[name] ?? [])
            let sorted = relays.sorted {
                ($0.priority, $0.endpoint.description) < ($1.priority, $1.endpoint.description)
            }
            return .init(
                name: name, relays: sorted.map { .init(endpoint: $0.endpoint.description, priority: $0.priority) },
                authorities: (try? directory.authorities(of: name))?.fingerprints)
        }
    }

    /// With what other gateways have heard of them, as far as the store answers.
    func entries(of records: [InstanceRecord]) async -> [AdministrationReply.InstanceEntry] {
        let noted = (try? await store.lastContacts()) ?? [:]
        return records.map { entry($0, heardOf: noted[$0.name.instance]) }.sorted { $0.instance < $1.instance }
    }

    /// - Parameter noted: when the store has it that the instance was last heard of.
    private func entry(_ record: InstanceRecord, heardOf noted: Date?) -> AdministrationReply.InstanceEntry {
        AdministrationReply.InstanceEntry(
            instance: record.name.instance.description, user: record.user,
            entitlement: record.name.entitlement.description, version: record.version ?? "",
            status: status(of: record).rawValue, lastContact: max(lastContact(with: record), noted ?? .distantPast))
    }

    /// When an instance was last authenticated: in this run of the gateway, or else by its record.
    private func lastContact(with record: InstanceRecord) -> Date {
        max(contacts.last(with: record.name.instance) ?? .distantPast, record.lastSeen ?? record.activated)
    }
}
