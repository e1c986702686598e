public import Logging
internal import SallyportBase
public import SallyportSecureStore
public import ServiceLifecycle

/// A gateway in this process: control plane, relay and administration over one data folder.
///
/// ```swift
/// let (folder, protector) = ("/var/lib/gateway", KeyFileProtector(path: "/etc/gateway.key"))
/// try await Gateway.create(at: folder, name: "gateway.example", protectedBy: protector)
///
/// let gateway = try await Gateway(at: folder, protectedBy: protector)
/// async let running: Void = gateway.run()
/// let listeners = try await gateway.listeners()
///
/// try await gateway.addApplication("com.example.report", version: "1.0.0.0")
/// try await gateway.addUser("ann@corp.example")
/// try await gateway.entitle("ann@corp.example", to: "com.example.report", version: "1.0.0.0")
/// try await gateway.setRoute(of: "corp.example", to: .relay)
/// let link = try await gateway.invite("ann@corp.example", to: "com.example.report")
/// // An app activates with the link, and reaches corp.example through this process.
///
/// await gateway.shutdown()
/// try await running
/// ```
///
/// It is a `Service`, so that a service group may run it beside others. One process at a time has a data folder. While
/// the gateway runs, `sallyport admin --data FOLDER` reaches it too, for this process's user and root.
///
/// Running raises the process's soft limit of descriptors to the hard one, since each tunnel takes two. The gateway's
/// private keys are in this process's memory: a process that can read that memory, or a core dump of it, has the keys.
public actor Gateway: Service {
    private enum Phase {
        case idle
        case starting(ServiceGroup)
        case listening(ServiceGroup, Listeners)
        case ended(GatewayError?)
    }

    /// How long open connections may continue when the gateway shuts down.
    static let drainTime: Duration = .seconds(15)

    private enum Content {
        case gateway(GatewayData)
        case relay(RelayStore)
    }

    private let content: Content
    private let folder: String
    private let configuration: Configuration
    private let logger: Logger
    private var phase = Phase.idle
    /// The tasks that wait for another phase.
    private var waiters = TaskWaiters()

    /// Creates the data of a new gateway: its authority, its keys, and a policy that allows nothing.
    ///
    /// - Parameters:
    ///   - folder: created with mode 0700 if it is missing.
    ///   - name: the host name, or the address, at which apps reach the gateway. It is part of its certificate and of
    ///     activation links.
    ///   - protector: protects the keys. The folder can be opened with the same protector only.
    /// - Throws: `invalid` for a name that is not a host, `alreadyInitialized` if the folder has a gateway,
    ///   `unsafePermissions` if other users can read it, `inUse`, `cancelled`, `store`.
    public static func create(
        at folder: String, name: String, protectedBy protector: any KeyProtector
    ) async throws(GatewayError) {
        do { try await GatewayDirectory.initialize(folder, name: name, protectedBy: protector) } catch {
            throw GatewayError(error)
        }
    }

    /// Opens an existing gateway. It does not run yet, but can already be administered.
    ///
    /// - Parameters:
    ///   - folder: the data folder, which ``create(at:name:protectedBy:)`` has made.
    ///   - protector: as for ``create(at:name:protectedBy:)``.
    ///   - configuration: where the gateway listens, and its limits.
    ///   - logger: for connections, requests and commands; never for a key.
    /// - Throws: `notInitialized` if there is none, `inUse` if another process uses it, `unsafePermissions`,
    ///   `cancelled`, `store`.
    public init(
        at folder: String, protectedBy protector: any KeyProtector, configuration: Configuration = Configuration(),
        logger: Logger = Logger(label: "sallyport.gateway")
    ) async throws(GatewayError) {
        try await self.init(
            at: folder, protectedBy: protector, configuration: configuration, through: nil, logger: logger)
    }

    /// - Parameter databases: opens the database of the gateway's fleet.
    package init(
        at folder: String, protectedBy protector: any KeyProtector, configuration: Configuration,
        through databases: DatabaseOpener?, logger: Logger
    ) async throws(GatewayError) {
        do {
            if configuration.role.followsFeed {
                let store = try await GatewayDirectory.openRelay(folder, protectedBy: protector)
                self.init(.relay(store), at: folder, configuration: configuration, logger: logger)
            } else {
                let data = try await AdministrationClient(data: folder, protectedBy: protector, through: databases)
                    .open()
                self.init(.gateway(data), at: folder, configuration: configuration, logger: logger)
            }
        } catch {
            throw GatewayError(error)
        }
    }

    /// - Parameter folder: the data directory, in which the administration socket is created.
    package init(data: GatewayData, at folder: String, configuration: Configuration, logger: Logger) {
        self.init(.gateway(data), at: folder, configuration: configuration, logger: logger)
    }

    private init(_ content: Content, at folder: String, configuration: Configuration, logger: Logger) {
        self.content = content
        self.folder = folder
        self.configuration = configuration
        self.logger = logger
    }
}

// MARK: Running

extension Gateway {
    /// Serves until ``shutdown()`` is called, its service group shuts down, or its task ends. Can be called once.
    ///
    /// A shutdown refuses new connections, ends event streams, and gives open tunnels 2 seconds and other connections
    /// 15. If the task is cancelled, everything is closed at once. In both cases it returns normally, with the folder
    /// closed.
    ///
    /// - Throws: `cannotBind` if a port is in use or an address is not this machine's, `invalid` for an inconsistent
    ///   configuration, `inUse` if it is already running, `ended` after its end, `store`, `fileSystem`,
    ///   `internalFailure`.
    public func run() async throws(GatewayError) {
        switch phase {
        case .idle: break
        case .starting, .listening: throw GatewayError(.inUse, "The gateway runs already.")
        case .ended: throw Self.hasEnded()
        }
        let group = serviceGroup()
        change(to: .starting(group))
        let failure = await Self.failure(of: group)
        change(to: .ended(failure))
        if let failure { throw failure }
    }

    private func serviceGroup() -> ServiceGroup {
        let service: any Service
        switch content {
        case .gateway(let data):
            service = GatewayServices(data: data, folder: folder, configuration: configuration, logger: logger) {
                await self.listens($0)
            }
        case .relay(let store):
            service = RelayRole(store: store, configuration: configuration, logger: logger) { await self.listens($0) }
        }
        var group = ServiceGroupConfiguration(
            services: [.init(service: service, successTerminationBehavior: .gracefullyShutdownGroup)], logger: logger)
        group.maximumGracefulShutdownDuration = Self.drainTime
        return ServiceGroup(configuration: group)
    }

    /// Nil if the group ended normally.
    private static func failure(of group: ServiceGroup) async -> GatewayError? {
        do {
            try await group.run()
            return nil
        } catch {
            // Errors of a cancelled task's parts are not failures.
            return Task.isCancelled || error is CancellationError ? nil : GatewayError(error)
        }
    }

    private func listens(_ listeners: Listeners) {
        guard case .starting(let group) = phase else { return }
        change(to: .listening(group, listeners))
    }

    /// The ports on which the gateway listens, as soon as it does; waits for ``run()`` if that was not called yet.
    ///
    /// - Throws: the error of ``run()`` if the gateway cannot start; `ended` after its end; `cancelled`.
    public func listeners() async throws(GatewayError) -> Listeners {
        while true {
            switch phase {
            case .listening(_, let listeners): return listeners
            case .ended(let failure): throw failure ?? Self.hasEnded()
            case .idle, .starting: break
            }
            guard await nextPhase() else { throw GatewayError(CancellationError()) }
        }
    }

    /// Ends the gateway like ``run()`` and waits until it has ended; a gateway that did not run is closed. Idempotent.
    ///
    /// If the task is cancelled, it does not wait.
    public func shutdown() async {
        switch phase {
        case .idle:
            change(to: .ended(nil))
            return await close()
        case .starting(let group), .listening(let group, _): await group.triggerGracefulShutdown()
        case .ended: return
        }
        while true {
            if case .ended = phase { return }
            guard await nextPhase() else { return }
        }
    }

    private func close() async {
        switch content {
        case .gateway(let data): await data.close()
        case .relay(let store): store.close()
        }
    }

    private func change(to new: Phase) {
        phase = new
        waiters.release()
    }

    /// Waits for the next change; false if the task is cancelled first.
    private func nextPhase() async -> Bool {
        let (number, signal) = waiters.join()
        await signal.wait()
        return waiters.wasReleased(number)
    }

    /// Executes one command, whether or not the gateway is running.
    func perform(_ command: AdministrationCommand) async throws(GatewayError) -> AdministrationReply {
        if case .ended = phase { throw Self.hasEnded() }
        guard case .gateway(let data) = content else {
            throw GatewayError(.invalid, "A relay is administered at its control gateways.")
        }
        return try await data.carryOut(command, by: .embedder)
    }

    private static func hasEnded() -> GatewayError { GatewayError(.ended, "The gateway was shut down.") }
}
