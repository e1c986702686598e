internal import SallyportCore
internal import SallyportEventLoop

/// libcurl's sockets in one pool: what libcurl waits for, and which of them are connections. A value; the pool watches
/// them.
///
/// libcurl 7.88 tells of the end of a socket only if it was connected. One whose connection is not made when its
/// transfer is cancelled, or is too late, or is beaten by another address, is closed silently, and the kernel gives its
/// number away again. So a socket counts as a connection once libcurl has waited for bytes: before that, one for which
/// it waits no more is gone.
struct CurlSockets {
    private struct Socket {
        let origin: Origin?
        /// The attempt for which it was opened.
        weak let attempt: Attempt?
        /// The readiness that libcurl waits for; empty while a connection is idle or paused.
        var interest: Interest
        var isMade = false
    }

    private var sockets: [Int32: Socket] = [:]
    /// Attempts whose sockets are gone before they were connected, by the sockets' numbers.
    private var stalled: [Int32: Attempt] = [:]

    var hasStalled: Bool { !stalled.isEmpty }

    /// The origins of the connections that no transfer uses.
    var idleOrigins: [Origin] { sockets.values.filter { $0.isMade && $0.interest.isEmpty }.compactMap(\.origin) }

    func hasIdle(to origin: Origin) -> Bool {
        sockets.values.contains { $0.isMade && $0.interest.isEmpty && $0.origin == origin }
    }

    /// What libcurl waits for; nil for a descriptor that is none of these.
    func interest(in descriptor: Int32) -> Interest? { sockets[descriptor]?.interest }

    func origin(of descriptor: Int32) -> Origin? { sockets[descriptor]?.origin }

    /// The sockets that were opened for an attempt. One that libcurl has closed silently may be among them.
    func descriptors(of attempt: Attempt) -> [Int32] {
        sockets.compactMap { $0.value.attempt === attempt ? $0.key : nil }
    }

    /// libcurl has a new socket, which is not connected yet.
    ///
    /// - Parameter interest: what libcurl already waits for.
    mutating func opened(_ descriptor: Int32, by attempt: Attempt, interest: Interest) {
        sockets[descriptor] = Socket(origin: attempt.claim?.origin, attempt: attempt, interest: interest)
    }

    mutating func waits(_ descriptor: Int32, for interest: Interest) {
        // By its index: optional chaining into a dictionary allocates, and this is called twice for each request.
        guard let index = sockets.index(forKey: descriptor) else { return }
        sockets.values[index].interest = interest
        if interest.contains(.read) { sockets.values[index].isMade = true }
    }

    /// libcurl waits for nothing any more.
    ///
    /// - Returns: whether it is a connection, which stays.
    mutating func rests(_ descriptor: Int32) -> Bool {
        guard let index = sockets.index(forKey: descriptor), sockets.values[index].isMade else { return false }
        sockets.values[index].interest = []
        return true
    }

    /// A socket is gone.
    ///
    /// - Returns: the origin to which it counted.
    mutating func remove(_ descriptor: Int32) -> Origin? {
        guard let socket = sockets.removeValue(forKey: descriptor) else { return nil }
        if !socket.isMade { stalled[descriptor] = socket.attempt }
        return socket.origin
    }

    /// A connection continues without libcurl.
    ///
    /// - Returns: whether it still counted to its origin.
    mutating func takesOver(_ descriptor: Int32) -> Bool {
        stalled[descriptor] = nil
        return sockets.removeValue(forKey: descriptor) != nil
    }

    /// The attempts whose sockets have gone since the last call, if their connections are not made yet.
    mutating func takeStalled() -> [Attempt] {
        defer { stalled.removeAll(keepingCapacity: true) }
        return stalled.values.filter { $0.step == .connect }
    }
}
