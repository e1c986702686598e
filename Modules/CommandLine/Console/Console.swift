import SallyportGateway

/// The gateway, as used by an administrator's command: the running one, or its directory.
struct Console {
    private let location: DataLocationOptions

    init(_ location: DataLocationOptions) { self.location = location }

    func perform(_ command: AdministrationCommand) async throws -> AdministrationReply {
        // If no gateway runs, this process opens the gateway's directory itself.
        try GatewayHost.keepFromDumps()
        let protector = try location.protector.protection(of: location.data).protector()
        return try await AdministrationClient(data: location.data, protectedBy: protector).perform(command)
    }
}
