import SallyportURLLoading

/// An activated app as the program's commands meet it.
struct Client {
    private let location: StoreLocationOptions

    init(_ location: StoreLocationOptions) { self.location = location }

    func activate(link: String, version: String?, waits: Bool) async throws -> ActivationReport { throw Self.missing }

    /// From the store alone.
    func status() async throws -> StatusReport { throw Self.missing }

    /// From the store alone.
    func explain(_ url: String) async throws -> ExplanationReport { throw Self.missing }

    /// A session of the authorized app.
    func withSession(
        trusting authorities: String?, _ body: @Sendable (SecureSession) async throws -> Void
    ) async throws { throw Self.missing }

    static let missing = CommandFailure(.unavailable, name: "unavailable", "This version cannot authorize yet.")
}
