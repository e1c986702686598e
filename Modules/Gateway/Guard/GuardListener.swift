internal import Glibc
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import SallyportBase
internal import Synchronization

/// The Unix socket at which a guard is asked, by the users that it allows (SO_PEERCRED, unix(7)).
///
/// The file is open to all users if others than the process's own are allowed: who asks, the kernel says.
struct GuardListener: Sendable {
    /// The most connections at a time; a further one is closed at once.
    static let maximumConnections = 256

    /// What the connections share.
    final class Services: Sendable {
        let relayGuard: RelayGuard
        let logger: Logger
        private let users: Set<UInt32>
        private let overflow: UInt32?
        private let open = Atomic(0)

        /// - Parameter overflow: the number that names no user; nil if each names one.
        init(
            _ relayGuard: RelayGuard, users: Set<UInt32>, overflow: UInt32? = OverflowUser.number(), logger: Logger
        ) {
            self.relayGuard = relayGuard
            self.users = users
            self.overflow = overflow
            self.logger = logger
        }

        func isAllowed(_ user: UInt32) -> Bool {
            guard user != overflow else { return false }
            return user == 0 || user == getuid() || users.contains(user)
        }

        /// Counts one more connection; false at the limit.
        func begin() -> Bool {
            guard open.add(1, ordering: .relaxed).newValue <= maximumConnections else {
                open.subtract(1, ordering: .relaxed)
                return false
            }
            return true
        }

        func end() { open.subtract(1, ordering: .relaxed) }
    }

    private let channel: any Channel
    private let path: String

    /// - Throws: `invalid` for a path that cannot be one, `inUse` if another process listens there, `fileSystem`.
    static func bind(
        _ path: String, for relayGuard: RelayGuard, users: Set<UInt32>, logger: Logger
    ) async throws(GatewayError) -> GuardListener {
        guard (1...107).contains(path.utf8.count), !path.utf8.contains(0) else {
            throw GatewayError(.invalid, "The path of the guard's socket has 1 to 107 bytes.")
        }
        try await removeStale(path)
        let services = Services(relayGuard, users: users, logger: logger)
        let channel: any Channel
        do {
            channel = try await bootstrap(services).bind(unixDomainSocketPath: path).get()
        } catch {
            throw GatewayError(
                .fileSystem, "The guard cannot listen on \(path): \(BindFailure.reason(error)).", underlying: error)
        }
        guard chmod(path, users.isEmpty ? 0o600 : 0o666) == 0 else {
            try? await channel.close().get()
            throw GatewayError(.fileSystem, "The mode of \(path) cannot be set.")
        }
        return GuardListener(channel: channel, path: path)
    }

    private static func bootstrap(_ services: Services) -> ServerBootstrap {
        ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: ListenerLimits.backlog)
            // What a user that is not allowed sends is not read.
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard services.begin() else { throw ChannelError.ioOnClosedChannel }
                    channel.closeFuture.whenComplete { _ in services.end() }
                    try channel.pipeline.syncOperations.addHandler(GuardConnection(services))
                }
            }
    }

    /// A socket that a process left behind is removed: nothing takes connections there.
    private static func removeStale(_ path: String) async throws(GatewayError) {
        guard let file = FileStatus(of: path, followsLinks: false) else { return }
        guard file.kind == .socket else {
            throw GatewayError(.fileSystem, "\(path) is there already, and is no socket.")
        }
        let probe = try? await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.seconds(1)).connect(unixDomainSocketPath: path).get()
        if let probe {
            try? await probe.close().get()
            throw GatewayError(.inUse, "Another process listens on \(path).")
        }
        unlink(path)
    }

    func close() async {
        try? await channel.close().get()
        unlink(path)
    }
}
