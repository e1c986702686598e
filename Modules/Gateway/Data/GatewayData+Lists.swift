internal import FoundationEssentials
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
        case .listRealms:
            .realms(directory.realms.sorted { $0.key < $1.key }.map { .init(realm: $0.key, kdcs: $0.value) })
        case .listInstances: .instances(instances.values.map(entry).sorted { $0.instance < $1.instance })
        case .listKeys(let user): .accessKeys(try await accessKeys(of: user))
        case .listGateways: .gateways(try await gatewayEntries())
        case .show: .configuration(try directory.declaration.yaml())
        case .apply(let yaml, let prune, dryRun: true, _):
            .changes(directory.difference(to: try directory.applying(Declaration(yaml: yaml), prune: prune)))
        case .authority: try await authorityStatus()
        default: throw GatewayError(.internalFailure, "The command is not one that lists.")
        }
    }

    /// With the relays of the fleet's gateways, as apps are told of them.
    private func clusterEntries() throws -> [AdministrationReply.ClusterEntry] {
        let own = AdministrationReply.ClusterEntry(
            name: Route.mainCluster,
            relays: try settings.relays(of: gateways).map { .init(endpoint: $0.description) })
        return (directory.clusterEntries + [own]).sorted { $0.name < $1.name }
    }

    func entry(_ record: InstanceRecord) -> AdministrationReply.InstanceEntry {
        AdministrationReply.InstanceEntry(
            instance: record.name.instance.description, user: record.user,
            entitlement: record.name.entitlement.description, version: record.version ?? "",
            status: status(of: record).rawValue, lastContact: lastContact(with: record))
    }

    /// When an instance was last authenticated: in this run of the gateway, or else by its stored record.
    private func lastContact(with record: InstanceRecord) -> Date {
        max(contacts.last(with: record.name.instance) ?? .distantPast, record.lastSeen ?? record.activated)
    }
}
