/// The keys that encrypt one collection's records: one from each data key. The current one is made at once, others when
/// needed.
final class RecordKeys: Sendable {
    /// The ring retains the ciphers, and these retain this object; a transaction retains the ring.
    private weak let ring: KeyRing?
    private let info: [UInt8]
    /// From the data key that was current when this was created: the key of most records, found without a lock.
    private let first: (id: UInt32, key: AEADKey)

    init(ring: KeyRing, identifier: [UInt8]) {
        self.ring = ring
        info = Array("sallyport store records ".utf8) + identifier
        let current = ring.current
        first = (current.id, current.key.aeadKey(for: info))
    }

    func current() -> (id: UInt32, key: AEADKey) {
        let id = ring?.currentID ?? first.id
        guard let key = key(id: id) else { preconditionFailure("The current data key is in the ring.") }
        return (id, key)
    }

    /// Why there is no such data key, if the file of the keys could not be read; otherwise nil.
    func failure(id: UInt32) -> StoreError? { id == first.id ? nil : ring?.failure(ofKey: id) }

    /// Nil if the ring has no such data key.
    func key(id: UInt32) -> AEADKey? {
        if id == first.id { return first.key }
        return ring?.recordKey(id: id, info: info)
    }
}
