import Configuration
import FoundationEssentials
import Logging
import Sallyport
import SallyportAuthorization
import SallyportDoor
import SallyportSecureStore
import SallyportURLLoading
import SallyportWire

/// An activated app, as used by the program's commands.
struct Client {
    private let location: StoreLocationOptions
    /// Nil if the app is open already, in the process of a door.
    private let protector: (any KeyProtector)?

    /// Reads the key of the store, once for all openings.
    ///
    /// Make it before ``withInterruption(_:)``: this may wait for standard input, and a task goes on waiting for that
    /// after it was cancelled.
    init(_ location: StoreLocationOptions) throws(CommandFailure) {
        self.location = location
        protector = try Workplace.current.isForAnother ? nil : location.keyProtector()
    }

    private func keyProtector() throws -> any KeyProtector { try protector ?? location.keyProtector() }

    private var protection: Protection { location.protector.protection(of: location.store) }

    // MARK: Activation

    /// - Parameter link: one that ``check(link:version:)`` takes, since an invalid link must not create a store.
    func activate(link: String, version: String?, waits: Bool) async throws -> ActivationReport {
        let isNew = !FileManager.default.fileExists(atPath: location.store)
        let store = try await location.openApp(StoreOptions(), protectedBy: keyProtector())
        defer { store.close() }
        let authorization = try Authorization.open(store: store, logger: Self.silent)
        do {
            let activation = try await authorization.activate(link: link, version: version, waits: waits)
            await authorization.close()
            protection.warnIfDefault()
            return ActivationReport(activation)
        } catch {
            await authorization.close()
            if isNew, !Self.isWorthKeeping(store, after: error) { discard(store) }
            throw error
        }
    }

    /// Whether a failed activation left a key that the next try needs: that of a request which the gateway may have
    /// answered with a certificate. A gateway that is cut off from its database says that it is not ready, and may have
    /// issued one all the same.
    static func isWorthKeeping(_ store: SecureStore, after error: any Error) -> Bool {
        guard let stored = try? StoredAuthorization.read(from: store), stored.instance == nil else { return true }
        guard let error = error as? AuthorizationError else { return true }
        return switch error.code {
        case .linkUsed, .linkExpired, .credentialsRefused, .versionNotEntitled, .authorityMismatch: false
        default: stored.hasPendingEnrollment
        }
    }

    /// Removes a store that this run has created.
    private func discard(_ store: SecureStore) {
        store.close()
        try? FileManager.default.removeItem(atPath: location.store)
    }

    static func check(link: String, version: String?) throws(CommandFailure) {
        do throws(WireError) {
            _ = try ActivationLink(link)
        } catch {
            throw CommandFailure(
                .usage, name: "\(error.code)", "The activation link is not valid: \(error.message)",
                hint: "copy the whole link, as the administrator sent it")
        }
        if let version, EntitlementVersion(version) == nil {
            throw CommandFailure(.usage, name: "invalid", "--version is 1 to 4 numbers of up to 3 digits, as 1.0.0.0.")
        }
    }

    // MARK: Stored information

    /// Read from the store only.
    func status() async throws -> StatusReport { try await withStored(StatusReport.init) }

    /// Read from the store only.
    func explain(_ url: String) async throws -> ExplanationReport {
        try await withStored { stored in
            guard stored.instance != nil else { throw notActivated("notAuthorized") }
            let explanation = try stored.explain(url)
            return ExplanationReport(explanation, under: stored)
        }
    }

    private func withStored<Report>(_ body: (StoredAuthorization) throws -> Report) async throws -> Report {
        let store = try await location.openApp(.readOnly, protectedBy: keyProtector())
        defer { store.close() }
        return try body(StoredAuthorization.read(from: store))
    }

    // MARK: Loading

    /// Runs `body` with a session of the authorized app.
    func withSession(
        _ configuration: SessionConfiguration, _ settings: ConfigReader, _ delegate: (any SessionDelegate)? = nil,
        _ body: @Sendable (SecureSession) async throws -> Void
    ) async throws {
        try await withInstance(settings) { sallyport in
            try await body(sallyport.makeSession(configuration, delegate: delegate))
        }
    }

    /// Runs `body` with the authorized app.
    func withInstance<Result: Sendable>(
        _ settings: ConfigReader? = nil, door: DoorConfiguration? = nil,
        _ body: @Sendable (Sallyport) async throws -> Result
    ) async throws -> Result {
        if let app = Workplace.current.app { return try await body(app) }
        try await checkActivated()
        let sallyport = try await Sallyport.open(
            store: location.store, protectedBy: keyProtector(), configuration: settings, door: door,
            logger: door == nil ? Self.silent : Logger(label: "sallyport"))
        do {
            try await sallyport.authorize()
            let result = try await body(sallyport)
            await sallyport.shutdown()
            return result
        } catch {
            await sallyport.shutdown()
            throw error
        }
    }

    /// A mistyped directory must not become a new store.
    private func checkActivated() async throws {
        let instance = try await withStored { $0.instance }
        guard instance != nil else {
            throw notActivated("notActivated")
        }
    }

    private func notActivated(_ name: String) -> CommandFailure {
        CommandFailure(
            .notAuthorized, name: name, "The store at \(location.store) is not activated.",
            hint: "activate the app with 'sallyport activate'")
    }

    /// The command itself reports failures; logs are for services.
    private static let silent = Logger(label: "sallyport") { _ in SwiftLogNoOpLogHandler() }
}
