internal import SallyportWire

/// The event streams of all instances, one for each: the newest replaces an older one.
///
/// Hints may be dropped if a client does not read: the newest 16 are kept, and any of them makes the client fetch the
/// configuration.
actor EventHub {
    enum Item: Sendable {
        case event(ControlEvent)
        case heartbeat
    }

    private typealias Continuation = AsyncStream<Item>.Continuation

    private var streams: [InstanceIdentifier: Continuation] = [:]
    private var lastID: UInt64
    private var sent: [InstanceIdentifier: UInt64] = [:]
    private var isFinished = false

    /// - Parameter start: increases with each start of the gateway, so that event ids keep increasing.
    init(start: UInt64) { lastID = start << 32 }

    /// The number of streams not yet known to have ended.
    var count: Int { streams.count }
    /// The instances that these streams are for.
    var listening: [InstanceIdentifier] { Array(streams.keys) }

    /// Begins the stream of an instance; an existing stream ends with `replaced`.
    ///
    /// - Parameter lastEventID: the last id that the client received; unless it is the last id of this instance, the
    ///   stream begins with `resync`.
    func begin(_ instance: InstanceIdentifier, lastEventID: String?) -> AsyncStream<Item> {
        let (stream, continuation) = AsyncStream.makeStream(of: Item.self, bufferingPolicy: .bufferingNewest(16))
        guard !isFinished else {
            continuation.finish()
            return stream
        }
        if let displaced = streams.updateValue(continuation, forKey: instance) {
            displaced.yield(.event(ControlEvent(.replaced)))
            displaced.finish()
        }
        let known = sent[instance].map { "\($0)" }
        if let lastEventID, lastEventID != known {
            continuation.yield(.event(ControlEvent(.resync, id: nextID(of: instance))))
        }
        return stream
    }

    private func nextID(of instance: InstanceIdentifier) -> UInt64 {
        lastID += 1
        sent[instance] = lastID
        return lastID
    }

    /// Notifies the instances that a change concerns that their configuration has changed.
    func notify(_ hints: ChangeHints) {
        for instance in hints.concernsAll ? Array(streams.keys) : Array(hints.instances) {
            guard let stream = streams[instance] else { continue }
            stream.yield(.event(ControlEvent(.configuration, id: nextID(of: instance))))
        }
    }

    /// Sends a heartbeat on all streams, and forgets those whose clients have disconnected.
    func beat() {
        for (instance, stream) in streams {
            guard case .terminated = stream.yield(.heartbeat) else { continue }
            streams[instance] = nil
        }
    }

    /// Ends all streams, including those that begin later.
    func finish() {
        isFinished = true
        for stream in streams.values { stream.finish() }
        streams = [:]
    }
}
