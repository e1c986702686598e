internal import SallyportBase

/// How far the encryption anew of old records has come. Changed on the writer's thread only, read anywhere.
///
/// Nothing of it is kept on the disk: a record names its data key, so a walk from the start finds what is left.
final class Rotation: Sendable {
    private struct State {
        /// Where the walk goes on; nil when none is under way.
        var cursor: [UInt8]?
        var damaged = 0
        var waiters: [CheckedContinuation<StoreError?, Never>] = []
    }

    private let state = Lock(State())

    /// Where the whole tree begins: no place is before it.
    private static let start: [UInt8] = [0]

    var cursor: [UInt8]? { state.withLock { $0.cursor } }
    var isUnderWay: Bool { cursor != nil }

    func begin() {
        state.withLock { state in
            state.cursor = Self.start
            state.damaged = 0
        }
    }

    /// Takes note of a batch; true when the walk is at its end and every record has the current key.
    func advance(to next: [UInt8]?, damaged: Int) -> Bool {
        state.withLock { state in
            state.cursor = next
            state.damaged += damaged
            return next == nil && state.damaged == 0
        }
    }

    /// Ends the walk and tells those who wait.
    func end(_ failure: StoreError?) {
        let (waiters, damaged) = state.withLock { state in
            state.cursor = nil
            defer { state.waiters = [] }
            return (state.waiters, state.damaged)
        }
        var outcome = failure
        if outcome == nil, damaged > 0 {
            outcome = StoreError(.damaged, "\(damaged) records do not verify, and keep their old key in the ring.")
        }
        for waiter in waiters { waiter.resume(returning: outcome) }
    }

    func wait(_ waiter: CheckedContinuation<StoreError?, Never>) { state.withLock { $0.waiters.append(waiter) } }
}

/// What one transaction of a rotation does at most.
enum RotationBatch {
    static let records = 256
    static let octets = 1 << 20
    static let visits = 8192
}

extension WriteTransaction {
    /// Encrypts anew what lies from `cursor` on under another data key than the current one, within a batch's limits.
    ///
    /// - Returns: where to go on, nil at the end, and how many records did not verify.
    func reencrypt(from cursor: [UInt8]) throws(StoreError) -> (next: [UInt8]?, damaged: Int) {
        let (places, next) = try stale(from: cursor)
        var damaged = 0
        for place in places {
            let cipher = ring.cipher(identifier: Array(place.prefix(RecordCipher.identifierLength)))
            do throws(StoreError) {
                try reencrypt(place, cipher)
            } catch {
                guard error.code == .damaged else { throw error }
                damaged += 1
            }
        }
        return (next, damaged)
    }

    private func reencrypt(_ place: [UInt8], _ cipher: RecordCipher) throws(StoreError) {
        guard place.count > RecordCipher.identifierLength else {
            return touch(try summary(of: cipher, named: []), of: cipher)
        }
        guard let old = try record(at: place) else { return }
        try replace(try cipher.seal(cipher.open(old, at: place), at: place), at: place, in: cipher)
    }

    private func stale(from cursor: [UInt8]) throws(StoreError) -> (places: [[UInt8]], next: [UInt8]?) {
        let current = ring.currentID
        var (places, next, octets, visits): ([[UInt8]], [UInt8]?, Int, Int) = ([], nil, 0, 0)
        try unsafe tree.scan(from: cursor) { place, record throws(StoreError) in
            guard places.count < RotationBatch.records, octets < RotationBatch.octets, visits < RotationBatch.visits
            else {
                next = unsafe Array(place)
                return false
            }
            visits += 1
            if unsafe RecordCipher.dataKeyID(of: record) != current {
                unsafe places.append(Array(place))
                octets += record.count
            }
            return true
        }
        return (places, next)
    }
}
