import SallyportGateway
import SallyportSecureStore

/// The gateway, as used by an administrator's command: the running one, or its directory.
struct Console {
    private let data: String
    private let protector: any KeyProtector

    init(_ location: DataLocationOptions) throws(CommandFailure) {
        // If no gateway runs, this process opens the gateway's directory itself.
        try GatewayHost.keepFromDumps()
        data = location.data
        protector = try location.protector.protection(of: location.data).protector()
    }

    func perform(_ command: AdministrationCommand) async throws -> AdministrationReply {
        do {
            return try await AdministrationClient(
                data: data, protectedBy: protector, through: GatewayHost.databases
            ).perform(command)
        } catch let error as GatewayError {
            throw await DirectoryMistake.explained(error, at: data, protectedBy: protector)
        }
    }
}
