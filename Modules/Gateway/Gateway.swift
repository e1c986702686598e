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
/// private keys lie in this process's memory: a process that may read that memory, or its core, has the keys.
public actor Gateway: Service {
    private enum Phase {
        case idle
        case starting(ServiceGroup)
        case listening(ServiceGroup, Listeners)
        case ended(GatewayError?)
    }

    /// So long do connections that are open have, once the gateway shuts down.
    static let drainTime: Duration = .seconds(15)

    private let data: GatewayData
    private let folder: String
    private let configuration: Configuration
    private let logger: Logger
    private var phase = Phase.idle
    /// The tasks that wait for another phase.
    private var waiters = TaskWaiters()

    /// Makes the data of a new gateway: its authority, its keys, and a policy that allows no user anything.
    ///
    /// - Parameters:
    ///   - folder: made where it is missing, of mode 0700.
    ///   - name: the host name, or the address, that apps reach the gateway by. It stands in its certificate and in
    ///     activation links.
    ///   - protector: what the keys are protected by. The folder opens with the same one only.
    /// - Throws: `invalid` for a name that is no host, `alreadyInitialized` where the folder has a gateway,
    ///   `unsafePermissions` where others may read it, `inUse`, `cancelled`, `store`.
    public static func create(
        at folder: String, name: String, protectedBy protector: any KeyProtector
    ) async throws(GatewayError) {
        do { try await GatewayDirectory.initialize(folder, name: name, protectedBy: protector) } catch {
            throw GatewayError(error)
        }
    }

    /// Opens a gateway that was made before. It does nothing yet, and can be administered already.
    ///
    /// - Parameters:
    ///   - protector: as at ``create(at:name:protectedBy:)``.
    ///   - logger: what the gateway says of connections, requests and commands; never a key.
    /// - Throws: `notInitialized` where there is none, `inUse` where another process has it, `unsafePermissions`,
    ///   `cancelled`, `store`.
    public init(
        at folder: String, protectedBy protector: any KeyProtector, configuration: Configuration = Configuration(),
        logger: Logger = Logger(label: "sallyport.gateway")
    ) async throws(GatewayError) {
        let data: GatewayData
        do { data = try await GatewayDirectory.open(folder, protectedBy: protector) } catch {
            throw GatewayError(error)
        }
        self.init(data: data, at: folder, configuration: configuration, logger: logger)
    }

    /// - Parameter folder: the data directory, in which the administration socket is made.
    package init(data: GatewayData, at folder: String, configuration: Configuration, logger: Logger) {
        self.data = data
        self.folder = folder
        self.configuration = configuration
        self.logger = logger
    }
}

// MARK: From start to end

extension Gateway {
    /// Serves until ``shutdown()``, the shutdown of the service group that it runs in, or the end of its task. Can be
    /// called once.
    ///
    /// A shutdown takes no more connections, ends event streams, gives open tunnels two seconds and what else is open
    /// 15. A task that is cancelled closes all at once. Either way it returns normally, with the folder closed.
    ///
    /// - Throws: `cannotBind` where a port is taken or an address not this machine's, `invalid` for a configuration that
    ///   contradicts itself, `inUse` where it runs already, `ended` after its end, `store`, `fileSystem`, `internalFailure`.
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
        let services = GatewayServices(data: data, folder: folder, configuration: configuration, logger: logger) {
            await self.listens($0)
        }
        var group = ServiceGroupConfiguration(
            services: [.init(service: services, successTerminationBehavior: .gracefullyShutdownGroup)], logger: logger)
        group.maximumGracefulShutdownDuration = Self.drainTime
        return ServiceGroup(configuration: group)
    }

    /// Nil where the group ended as it should.
    private static func failure(of group: ServiceGroup) async -> GatewayError? {
        do {
            try await group.run()
            return nil
        } catch {
            // What a cancelled task's parts say of it is no failure.
            return Task.isCancelled || error is CancellationError ? nil : GatewayError(error)
        }
    }

    private func listens(_ listeners: Listeners) {
        guard case .starting(let group) = phase else { return }
        change(to: .listening(group, listeners))
    }

    /// Where the gateway listens, as soon as it does: waits for ``run()`` where that was not called yet.
    ///
    /// - Throws: what ``run()`` throws where the gateway cannot start; `ended` after its end; `cancelled`.
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

    /// Ends the gateway and waits until it has ended, as ``run()`` says; one that did not run is closed. Idempotent.
    ///
    /// A task that is cancelled does not wait.
    public func shutdown() async {
        switch phase {
        case .idle:
            change(to: .ended(nil))
            return await data.close()
        case .starting(let group), .listening(let group, _): await group.triggerGracefulShutdown()
        case .ended: return
        }
        while true {
            if case .ended = phase { return }
            guard await nextPhase() else { return }
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

    /// Carries out one command, whether the gateway runs yet or not.
    func perform(_ command: AdministrationCommand) async throws(GatewayError) -> AdministrationReply {
        if case .ended = phase { throw Self.hasEnded() }
        return try await data.carryOut(command)
    }

    private static func hasEnded() -> GatewayError { GatewayError(.ended, "The gateway was shut down.") }
}
