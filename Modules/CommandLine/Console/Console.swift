import SallyportGateway

/// The gateway as an administrator's command meets it.
struct Console {
    private let location: DataLocationOptions

    init(_ location: DataLocationOptions) { self.location = location }

    func perform(_ command: AdministrationCommand) async throws -> AdministrationReply {
        throw CommandFailure(.unavailable, name: "unavailable", "This version has no gateway yet.")
    }
}
