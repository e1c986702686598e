internal import Logging

/// Guards a foreign relay on this machine: its helpers ask over a Unix socket whether a tunnel may be opened, and the
/// tunnels that the policy no longer allows are ended.
///
/// It needs no more than a policy and to be told when that has changed: a running gateway has both, and so has a relay
/// that follows one.
package struct GuardService: Sendable {
    private let relayGuard: RelayGuard
    private let settings: Gateway.RelayGuardSettings
    private let logger: Logger

    /// - Parameter maximumTunnels: of one instance.
    init(
        _ settings: Gateway.RelayGuardSettings, policy: any RelayPolicy, maximumTunnels: Int,
        audit: AuditRecorder = .keepsNothing, logger: Logger
    ) throws(GatewayError) {
        self.settings = settings
        self.logger = logger
        relayGuard = try RelayGuard(
            policy: policy, endingTunnelsAt: settings.port, maximumTunnels: maximumTunnels, audit: audit,
            logger: logger)
    }

    /// The policy has changed, and already uses the new rules.
    package func policyChanged() { relayGuard.policyChanged() }

    /// Judges the open tunnels, and returns then.
    func settled() async { await relayGuard.reconsider() }

    /// Whether tunnels may stay open that the policy no longer allows.
    var leavesTunnelsOpen: Bool { get async { await relayGuard.leavesTunnelsOpen } }

    /// The open tunnels that it judges.
    var tunnelCount: Int { get async { await relayGuard.tunnelCount } }

    /// Listens. Call ``Running/run()`` then.
    ///
    /// - Throws: `forbidden` if this process may not end connections, `inUse`, `invalid`, `fileSystem`.
    package func start() async throws(GatewayError) -> Running {
        try await relayGuard.start()
        let listener = try await GuardListener.bind(
            settings.path, for: relayGuard, users: settings.users, logger: logger)
        return Running(relayGuard: relayGuard, listener: listener)
    }

    /// A guard that listens.
    package struct Running: Sendable {
        let relayGuard: RelayGuard
        let listener: GuardListener

        /// Serves until the task is cancelled. Then it judges no more, and ends the tunnels that it has allowed.
        package func run() async {
            await relayGuard.run()
            await close()
        }

        /// Listens no more. For one that is not run.
        func close() async { await listener.close() }
    }
}
