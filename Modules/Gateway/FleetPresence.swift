internal import Logging
internal import ServiceLifecycle

/// Shows the fleet that this gateway runs, until it ends.
struct FleetPresence: Sendable {
    static let interval = Duration.seconds(10)

    let data: GatewayData
    let logger: Logger

    func run() async {
        try? await cancelWhenGracefulShutdown {
            var told: [String: Int] = [:]
            while !Task.isCancelled {
                told = await warn(besides: told)
                try await Task.sleep(for: Self.interval)
                await tell { try await data.showPresence() }
            }
        }
        guard !Task.isCancelled else { return }
        await tell { try await data.leaveFleet() }
    }

    /// No gateway is refused because its relay is one too many: apps find it at its control port all the same.
    ///
    /// - Parameter told: of which clusters it was logged that they have so many relays.
    /// - Returns: the same afterwards.
    private func warn(besides told: [String: Int]) async -> [String: Int] {
        guard let crowded = try? await data.lookAtCrowding() else { return told }
        for (cluster, count) in crowded where told[cluster] != count {
            logger.warning(
                "A cluster has more relays than apps are told of; those of silent gateways are left out first.",
                metadata: ["cluster": "\(cluster)", "relays": "\(count)", "told": "\(ClusterPlaces.limit)"])
        }
        return crowded
    }

    /// A failure is made good by the next time.
    private func tell(_ body: () async throws -> Void) async {
        do { try await body() } catch {
            logger.debug("The fleet was not told.", metadata: ["error": "\(GatewayError(error).message)"])
        }
    }
}
