internal import SallyportBase
internal import SallyportWire

/// The event streams of all instances, one each: the newest takes the place of an older one.
///
/// Hints may be dropped where a client does not read: the newest 16 are kept, and any one of them makes the client
/// fetch the configuration.
final class EventHub: Sendable {
    enum Item: Sendable {
        case event(ControlEvent)
        case heartbeat
    }

    private struct Stream: Sendable {
        var token: UInt64
        var continuation: AsyncStream<Item>.Continuation
    }

    private struct State: Sendable {
        var streams: [InstanceIdentifier: Stream] = [:]
        var lastID: UInt64
        var sent: [InstanceIdentifier: UInt64] = [:]
        var isFinished = false
    }

    private let state: Lock<State>

    /// - Parameter start: rises with each start of the gateway, so that its ids follow those of the one before.
    init(start: UInt64) { state = Lock(State(lastID: start << 32)) }

    /// Begins the stream of an instance; a stream that was there ends with `replaced`.
    ///
    /// - Parameter lastEventID: what the client saw last; anything but the last id of this instance is answered with
    ///   `resync`.
    func begin(_ instance: InstanceIdentifier, lastEventID: String?) -> AsyncStream<Item> {
        let (stream, continuation) = AsyncStream.makeStream(of: Item.self, bufferingPolicy: .bufferingNewest(16))
        let displaced = state.withLock { state -> AsyncStream<Item>.Continuation? in
            guard !state.isFinished else {
                continuation.finish()
                return nil
            }
            state.lastID += 1
            let token = state.lastID
            continuation.onTermination = { _ in self.ended(instance, token: token) }
            let displaced = state.streams.updateValue(
                Stream(token: token, continuation: continuation), forKey: instance)
            let known = state.sent[instance].map { "\($0)" }
            if let lastEventID, lastEventID != known {
                continuation.yield(.event(ControlEvent(.resync, id: Self.nextID(&state, instance))))
            }
            return displaced?.continuation
        }
        displaced?.yield(.event(ControlEvent(.replaced)))
        displaced?.finish()
        return stream
    }

    /// Forgets a stream whose client has gone, unless a newer one took its place.
    private func ended(_ instance: InstanceIdentifier, token: UInt64) {
        state.withLock { state in
            if state.streams[instance]?.token == token { state.streams[instance] = nil }
        }
    }

    private static func nextID(_ state: inout State, _ instance: InstanceIdentifier) -> UInt64 {
        state.lastID += 1
        state.sent[instance] = state.lastID
        return state.lastID
    }

    /// Tells one instance, or all, that its configuration changed.
    func notify(_ instance: InstanceIdentifier? = nil) {
        state.withLock { state in
            let instances = instance.map { [$0] } ?? Array(state.streams.keys)
            for instance in instances {
                guard let stream = state.streams[instance] else { continue }
                stream.continuation.yield(.event(ControlEvent(.configuration, id: Self.nextID(&state, instance))))
            }
        }
    }

    /// Keeps all streams alive.
    func beat() {
        let streams = state.withLock { Array($0.streams.values) }
        for stream in streams { stream.continuation.yield(.heartbeat) }
    }

    func finish() {
        let streams = state.withLock { state -> [Stream] in
            state.isFinished = true
            defer { state.streams = [:] }
            return Array(state.streams.values)
        }
        for stream in streams { stream.continuation.finish() }
    }
}
