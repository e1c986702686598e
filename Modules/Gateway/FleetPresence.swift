internal import Logging
internal import ServiceLifecycle

/// Shows the fleet that this gateway runs, until it ends.
struct FleetPresence: Sendable {
    static let interval = Duration.seconds(10)

    let data: GatewayData
    let logger: Logger

    func run() async {
        try? await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                try await Task.sleep(for: Self.interval)
                await tell { try await data.showPresence() }
            }
        }
        guard !Task.isCancelled else { return }
        await tell { try await data.leaveFleet() }
    }

    /// A failure is made good by the next time.
    private func tell(_ body: () async throws -> Void) async {
        do { try await body() } catch {
            logger.debug("The fleet was not told.", metadata: ["error": "\(GatewayError(error).message)"])
        }
    }
}
