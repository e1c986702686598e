internal import Foundation
internal import Metrics
internal import SallyportBase

/// The figures of a relay, or of a guard, that follows a feed.
///
/// An actor, so that the processor time of the process is added once.
actor RelayGauges: Gauges {
    /// What the figures are read from.
    struct Sources: Sendable {
        /// Has the tunnels report the bytes that they carried, and returns their number.
        let tunnels: @Sendable () async -> Int
        /// Those of instances and strangers, if there are any here, and those to the metrics.
        let connections: [Connections]
        let health: Health
        /// Nil before there is a feed.
        let feed: @Sendable () async -> RelayFeed.Figures?
    }

    private let sources: Sources
    private let listeners: ListenerGauges
    private let revision: MeterFamily
    private let lease: MeterFamily
    private let followed: MeterFamily
    private let ends: MeterFamily

    /// - Parameter health: its labels name the parts.
    init(_ sources: Sources, health: MetricDescription, _ factory: any MetricsFactory) {
        self.sources = sources
        listeners = ListenerGauges(health: health, factory)
        revision = MeterFamily(.feedRevision, factory)
        lease = MeterFamily(.feedLease, factory)
        followed = MeterFamily(.feedGateways, factory)
        ends = MeterFamily(.relayCertificateEnds, factory)
    }

    func refresh() async {
        let (tunnels, feed) = (await sources.tunnels(), await sources.feed())
        if let feed {
            revision.set(Double(feed.revision))
            lease.set(Double(feed.lease.wholeMilliseconds) / 1000)
            followed.set(feed.followed)
            for (name, end) in feed.certificateEnds { ends.set(end.timeIntervalSince1970, name) }
        }
        listeners.refresh(tunnels: tunnels, sources.connections, await sources.health.states())
    }
}
