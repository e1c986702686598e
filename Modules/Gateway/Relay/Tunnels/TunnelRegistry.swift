internal import NIOCore
internal import NIOSSL
internal import SallyportBase

/// All connections of a relay on all loops, the number of tunnels of each instance, and the TLS settings of new
/// connections.
///
/// A lock and no actor: event loops call it at each accept, CONNECT and close, and must not wait.
final class TunnelRegistry: Sendable {
    private struct State {
        /// For new connections.
        var tls: NIOSSLContext
        var tunnels: [ObjectIdentifier: NIOLoopBound<Tunnel>] = [:]
        var counts: [String: Int] = [:]
        /// The sum of `counts`.
        var reserved = 0
        var drained: EventLoopPromise<Void>?
        var isClosed = false
    }

    private let state: Lock<State>

    init(tls: NIOSSLContext) { state = Lock(State(tls: tls)) }

    /// Connections that are admitted from now on use it.
    func use(_ tls: NIOSSLContext) { state.withLock { $0.tls = tls } }

    var tunnelCount: Int { state.withLock { $0.reserved } }

    /// Registers a connection, on its loop, and returns the context that its TLS begins with; nil after ``close(on:)``.
    func admit(_ tunnel: Tunnel) -> NIOSSLContext? {
        let bound = NIOLoopBound(tunnel, eventLoop: tunnel.client.eventLoop)
        let id = ObjectIdentifier(tunnel)
        return state.withLock { state in
            guard !state.isClosed else { return nil }
            state.tunnels[id] = bound
            return state.tls
        }
    }

    func remove(_ tunnel: Tunnel) {
        let id = ObjectIdentifier(tunnel)
        let drained = state.withLock { state -> EventLoopPromise<Void>? in
            state.tunnels[id] = nil
            return state.isClosed && state.tunnels.isEmpty ? state.drained.take() : nil
        }
        drained?.succeed()
    }

    /// Counts one more tunnel of an instance, unless it has as many as it may.
    func reserve(instance: String, limit: Int) -> Bool {
        state.withLock { state in
            let count = state.counts[instance, default: 0]
            guard count < limit else { return false }
            state.counts[instance] = count + 1
            state.reserved += 1
            return true
        }
    }

    func release(instance: String) {
        state.withLock { state in
            let count = state.counts[instance, default: 1] - 1
            state.counts[instance] = count > 0 ? count : nil
            state.reserved -= 1
        }
    }

    /// Runs `body` for each connection, on the loop of each.
    func forEach(_ body: @escaping @Sendable (Tunnel) -> Void) {
        for bound in state.withLock({ Array($0.tunnels.values) }) {
            bound.eventLoop.execute { body(bound.value) }
        }
    }

    /// Admits nothing from now on; the future completes when the last connection is gone.
    func close(on eventLoop: any EventLoop) -> EventLoopFuture<Void> {
        let promise = eventLoop.makePromise(of: Void.self)
        let (isDrained, earlier) = state.withLock { state -> (Bool, EventLoopPromise<Void>?) in
            state.isClosed = true
            if state.tunnels.isEmpty { return (true, nil) }
            defer { if state.drained == nil { state.drained = promise } }
            return (false, state.drained)
        }
        if isDrained { promise.succeed() }
        earlier?.futureResult.cascade(to: promise)
        return promise.futureResult
    }
}
