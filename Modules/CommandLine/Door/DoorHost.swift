import Glibc
import Logging
import Sallyport
import SallyportBase
import SallyportDoor
import UnixSignals

/// An app that is opened for its door, and what belongs to it while the door is open.
struct DoorHost {
    private let client: Client
    private let store: String

    init(_ location: StoreLocationOptions) throws(CommandFailure) {
        client = try Client(location)
        store = location.store
    }

    /// Opens the door, and keeps it open until SIGTERM or SIGINT.
    func run(_ configuration: DoorConfiguration, ready: @escaping @Sendable ([DoorPlace]) -> Void) async throws {
        try await withDoor(configuration) { _, places in
            // Taken before the line is printed, by which others know that the program runs.
            let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
            ready(places)
            for await _ in signals { return }
        }
    }

    /// Runs `body` while the door is open and the app follows its administrator.
    func withDoor<Result: Sendable>(
        _ configuration: DoorConfiguration, _ body: @escaping @Sendable (Sallyport, [DoorPlace]) async throws -> Result
    ) async throws -> Result {
        DescriptorLimit.raise()
        return try await client.withInstance(door: configuration) { [store] app in
            let service = try CommandService(for: app, store: store)
            defer { service.shutdown() }
            // A withdrawal must end what is open, and a new policy judge it.
            async let _ = app.authorization.run()
            async let _ = app.reachability.run()
            return try await body(app, app.door?.places ?? [])
        }
    }
}
