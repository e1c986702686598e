internal import Foundation
internal import Metrics
internal import SallyportSecureStore

/// The figures of a gateway: what is open now, and what is stored.
///
/// An actor, so that the processor time of the process is added once.
actor GatewayGauges: Gauges {
    /// What the figures are read from.
    struct Sources: Sendable {
        let data: GatewayData
        /// The data directory.
        let folder: String
        let events: EventHub
        let relay: Relay
        /// Those of instances and strangers, and those to the metrics.
        let connections: [Connections]
        let health: Health
    }

    private let sources: Sources
    private let listeners: ListenerGauges
    private let streams: MeterFamily
    private let instances: MeterFamily
    private let ends: MeterFamily
    private let revision: MeterFamily
    private let storeSize: MeterFamily
    private let storeUsed: MeterFamily
    private let diskFree: MeterFamily

    init(_ sources: Sources, _ factory: any MetricsFactory) {
        self.sources = sources
        listeners = ListenerGauges(health: .health, factory)
        streams = MeterFamily(.eventStreams, factory)
        instances = MeterFamily(.instances, factory)
        ends = MeterFamily(.certificateEnds, factory)
        revision = MeterFamily(.revision, factory)
        storeSize = MeterFamily(.storeSize, factory)
        storeUsed = MeterFamily(.storeUsed, factory)
        diskFree = MeterFamily(.diskFree, factory)
    }

    /// Reads all figures, and has the tunnels report the bytes that they carried.
    func refresh() async {
        await sources.relay.reportBytes()
        streams.set(await sources.events.count)
        await readData()
        let parts = await sources.health.states()
        listeners.refresh(tunnels: sources.relay.tunnelCount, sources.connections, parts)
    }

    private func readData() async {
        let stored = await sources.data.storedFigures()
        for (status, count) in stored.instances() { instances.set(count, status) }
        for (name, end) in stored.certificateEnds { ends.set(end.timeIntervalSince1970, name) }
        revision.set(Double(await sources.data.followed))
        // What cannot be read keeps its last value; the health of the store says so.
        if let statistics = try? sources.data.own.statistics() {
            storeSize.set(statistics.fileSize)
            storeUsed.set(statistics.usedSize)
        }
        if let free = FileSystemSpace.free(at: sources.folder) { diskFree.set(free) }
    }
}
