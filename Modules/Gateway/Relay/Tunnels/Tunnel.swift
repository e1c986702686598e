internal import Logging
internal import NIOCore
internal import SallyportCore

/// One connection to the relay, from accept to end, and the connection to the server once there is one. Used on the
/// client's event loop only.
final class Tunnel {
    typealias Side = TunnelEnds.Side

    /// How a tunnel ended, as the log names it.
    enum Result: String {
        case ended, refused, withdrawn, idle, shutdown
        case clientFailed = "client-failed"
        case serverFailed = "server-failed"
        case clientLeft = "client-left"
    }

    private enum Phase { case requesting, open, over }

    let client: any Channel
    private let services: RelayServices
    private var phase = Phase.requesting
    /// The connection to the server while it is being opened, and what it is opened by.
    private var dial: (origin: any Channel, grant: TunnelGrant)?
    private var origin: (any Channel)?
    private var splices: TunnelSplices?
    private var grant: TunnelGrant?
    /// The instance that owns the tunnel, once the policy has allowed it.
    private(set) var instance: String?
    private var ends = TunnelEnds()
    private var lastActivity: NIODeadline
    private var opened: NIODeadline
    private var idleTimer: Scheduled<Void>?
    /// How many of the bytes were reported.
    private var reported = (up: 0, down: 0)

    init(client: any Channel, services: RelayServices) {
        self.client = client
        self.services = services
        lastActivity = client.eventLoop.now
        opened = lastActivity
    }

    var isOver: Bool { phase == .over }

    /// Counts this tunnel among an instance's, until it ends; false at the limit.
    func reserve(instance: String) -> Bool {
        guard services.registry.reserve(instance: instance, limit: services.configuration.maximumTunnels) else {
            return false
        }
        self.instance = instance
        return true
    }

    /// From now on, the bytes of both sides belong to this tunnel.
    func open(to origin: any Channel, grant: TunnelGrant, splices: TunnelSplices) {
        dial = nil
        self.origin = origin
        self.grant = grant
        self.splices = splices
        phase = .open
        opened = client.eventLoop.now
        carried(at: opened)
        scheduleIdleCheck(at: lastActivity + idleTimeout)
    }

    /// Ends a tunnel, or the connection that is being opened for it, if the policy no longer allows it.
    func reconsider() {
        if isDialRefused { dial?.origin.reset() }
        guard phase == .open, let grant else { return }
        if !grant.holds(check: services.addressCheck) { abort(.withdrawn) }
    }

    /// At shutdown: a connection without a tunnel is closed.
    func dropUnlessOpen() { if phase == .requesting { abort(.shutdown) } }
}

// MARK: Dialling

extension Tunnel {
    /// Whether a server may be connected to. Since CONNECT was judged, the client may have left and the policy changed.
    func permit(_ grant: TunnelGrant) throws(RelayRefusal) {
        guard phase == .requesting, grant.holds(check: services.addressCheck) else {
            throw RelayRefusal.policyChanged
        }
    }

    /// A connection to the server is about to be opened. It is not counted once this tunnel is over, and so it ends then.
    func dials(_ origin: any Channel, by grant: TunnelGrant) { dial = (origin, grant) }

    /// Whether the policy no longer allows what is being dialled, or was dialled last.
    var isDialRefused: Bool { dial.map { !$0.grant.holds(check: services.addressCheck) } ?? false }
}

// MARK: Forwarding

extension Tunnel {
    /// Bytes went from one side to the other.
    func carried(at time: NIODeadline) { lastActivity = time }

    private func channel(_ side: Side) -> (any Channel)? { side == .client ? client : origin }

    private var idleTimeout: TimeAmount { .nanoseconds(services.configuration.idleTimeout.nanoseconds) }

    private func scheduleIdleCheck(at deadline: NIODeadline) {
        idleTimer = client.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { self.checkIdle() }
    }

    private func checkIdle() {
        let deadline = lastActivity + idleTimeout
        if deadline <= client.eventLoop.now { abort(.idle) } else { scheduleIdleCheck(at: deadline) }
    }
}

// MARK: Ending

extension Tunnel {
    /// A side has ended: the other side is informed after all forwarded bytes.
    func inputEnded(at side: Side) {
        guard phase == .open, ends.inputEnded(at: side), let other = channel(side.other) else { return }
        other.flush()
        other.close(mode: .output).assumeIsolated().whenComplete { result in
            switch result {
            case .success: self.outputClosed(at: side.other)
            case .failure: self.abort(side == .client ? .serverFailed : .clientFailed)
            }
        }
    }

    private func outputClosed(at side: Side) {
        guard phase == .open else { return }
        ends.outputClosed(at: side)
        guard ends.isComplete else { return }
        origin?.close(promise: nil)
        client.close(promise: nil)
        end(.ended)
    }

    /// A side was closed without an error. If its output was closed before and its input had ended, NIO reports only
    /// that; if both sides have ended, the pending half-close shows how it went.
    func closed(_ side: Side) {
        guard phase == .open, !ends.hasBothInputsEnded else { return }
        if ends.isOutputClosed(at: side) {
            inputEnded(at: side)
        } else {
            abort(side == .client ? .clientFailed : .serverFailed)
        }
    }

    /// Resets both sides, so that neither takes this for a regular end.
    func abort(_ result: Result) {
        guard phase != .over else { return }
        let origin = origin
        end(result)
        client.reset()
        origin?.reset()
    }

    /// Releases everything, once, and writes the line in the log.
    func end(_ result: Result) {
        guard phase != .over else { return }
        if let grant {
            log(grant, result)
            let open = client.eventLoop.now - opened
            services.audit.ended(
                grant, result.rawValue, carried, milliseconds: open.nanoseconds / 1_000_000)
            reportBytes()
            services.metrics.tunnelsEnded.add(1, result.rawValue)
        }
        phase = .over
        idleTimer?.cancel()
        idleTimer = nil
        splices?.client.part()
        splices = nil
        origin = nil
        // Fails the dial at once, which finds that this tunnel is over.
        dial.take()?.origin.reset()
        if let instance { services.registry.release(instance: instance) }
        services.registry.remove(self)
    }

    /// Adds what was carried since the last report to the gateway's counters: at each scrape, and at the end.
    ///
    /// A read only adds to the plain integer of its side of the tunnel, on the tunnel's loop. So the way of the bytes
    /// has no lock, no atomic and no allocation for metrics, and the counters are exact when they are read.
    func reportBytes() {
        guard splices != nil else { return }
        let (up, down) = carried
        services.metrics.relayedBytes.add(up - reported.up, "up")
        services.metrics.relayedBytes.add(down - reported.down, "down")
        reported = (up, down)
    }

    private var carried: (up: Int, down: Int) { (splices?.client.byteCount ?? 0, splices?.origin.byteCount ?? 0) }

    private func log(_ grant: TunnelGrant, _ result: Result) {
        let (up, down) = carried
        services.logger.info(
            "Tunnel",
            metadata: [
                "instance": "\(grant.instance)", "target": "\(grant.target)", "address": "\(grant.address)",
                "result": "\(result.rawValue)", "up": "\(up)", "down": "\(down)",
            ])
    }
}
