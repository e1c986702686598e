/// The progress of re-encrypting old records: a value.
///
/// It is not stored on disk: a record names its data key, so a walk from the start finds the remaining records.
struct Rotation: Sendable {
    typealias Waiter = CheckedContinuation<StoreError?, Never>

    /// Where the walk continues; nil if none is in progress.
    private(set) var cursor: [UInt8]?
    /// The data key that was the current one when the walk was at the start.
    private var key: UInt32 = 0
    private var damaged = 0
    private var waiters: [Waiter] = []

    /// The start of the tree: no place is before it.
    private static let start: [UInt8] = [0]

    mutating func begin(for key: UInt32) { (cursor, self.key, damaged) = (Self.start, key, 0) }

    /// Where the walk continues while `key` is the current data key; nil if none is in progress.
    ///
    /// It starts again if it began under another key: the records behind it have that one, which is forgotten at the
    /// end of the walk.
    mutating func position(for key: UInt32) -> [UInt8]? {
        if cursor != nil, self.key != key { begin(for: key) }
        return cursor
    }

    /// Records a batch; true if the walk has ended and every record has the current key.
    mutating func advance(to next: [UInt8]?, damaged: Int) -> Bool {
        cursor = next
        self.damaged += damaged
        return next == nil && self.damaged == 0
    }

    /// Ends the walk.
    ///
    /// - Returns: the tasks that wait for the end, and their result.
    mutating func end(_ failure: StoreError?) -> (waiters: [Waiter], outcome: StoreError?) {
        cursor = nil
        defer { waiters = [] }
        guard failure == nil, damaged > 0 else { return (waiters, failure) }
        let message = "\(damaged) records do not verify, and keep their old key in the ring."
        return (waiters, StoreError(.damaged, message))
    }

    mutating func wait(_ waiter: Waiter) { waiters.append(waiter) }
}

/// The limits of one transaction of a rotation.
enum RotationBatch {
    static let records = 256
    static let bytes = 1 << 20
    static let visits = 8192
}

extension WriteTransaction {
    /// Re-encrypts records from `cursor` on that have another data key than the current one, within a batch's limits.
    ///
    /// - Returns: where to continue, nil at the end, and how many records failed verification.
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
        var (places, next, bytes, visits): ([[UInt8]], [UInt8]?, Int, Int) = ([], nil, 0, 0)
        try unsafe tree.scan(from: cursor) { place, record throws(StoreError) in
            guard places.count < RotationBatch.records, bytes < RotationBatch.bytes, visits < RotationBatch.visits
            else {
                next = unsafe Array(place)
                return false
            }
            visits += 1
            if unsafe RecordCipher.dataKeyID(of: record) != current {
                unsafe places.append(Array(place))
                bytes += record.count
            }
            return true
        }
        return (places, next)
    }
}
