import SallyportGateway

/// A gateway and its data as the program's commands meet them.
struct GatewayHost {
    private let location: DataLocationOptions

    init(_ location: DataLocationOptions) { self.location = location }

    /// What `gateway init` made.
    struct Made: Encodable {
        let name: String
        /// base64url SHA-256 of the authority's certificate, as it stands in activation links.
        let authority: String
    }

    /// Where a running gateway listens.
    struct Addresses: Encodable {
        let control: String
        let relay: String
        let ready = true
    }

    /// What `gateway certificate` wrote.
    struct Files: Encodable {
        let key: String
        let certificate: String
        let authority: String
    }

    func initialize(name: String?) async throws -> Made { throw Self.missing }

    func run(_ command: GatewayCommand.RunCommand, whenReady: @escaping @Sendable (Addresses) -> Void) async throws {
        throw Self.missing
    }

    func issueCertificate(for host: String, in directory: String) async throws -> Files { throw Self.missing }

    private static let missing = CommandFailure(.unavailable, name: "unavailable", "This version has no gateway yet.")
}
