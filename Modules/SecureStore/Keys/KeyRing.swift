internal import Crypto
internal import SallyportBase

/// The store's own keys: random, created with the store, never stored unwrapped.
///
/// The index key hides names and finds records, and never changes. Data keys encrypt records; each record names its
/// data key, so that a new one is used at once while old records are re-encrypted later.
final class KeyRing: Sendable {
    struct DataKey: Sendable {
        let id: UInt32
        let key: MasterKey
    }

    private struct State {
        /// The keys in the file; the last one encrypts.
        var dataKeys: [DataKey]
        /// Removed from the file, but readers of this process may still see records encrypted with them.
        var retired: [DataKey] = []
        /// Made, and perhaps in the file already, but not known to be durable there: it must not encrypt yet.
        var pending: DataKey?
        var ciphers: [[UInt8]: RecordCipher] = [:]
        /// Keys of collections' records that no ``RecordKeys`` holds.
        var recordKeys: [RecordKeyName: AEADKey] = [:]
        /// For a reader beside a process that rotates keys: reads the file again.
        var reader: KeyReader?
        /// Why the file could not be read again the last time.
        var failure: StoreError?
    }

    private struct RecordKeyName: Hashable {
        let id: UInt32
        let info: [UInt8]
    }

    /// How many collections' ciphers are cached, and how many of their other keys.
    private static let cipherLimit = 1024

    let memory: KeyMemory
    let indexKey: MasterKey
    private let namesKey: MACKey
    private let state: Lock<State>
    /// The file that was read again last. Held while it is read: a protector may take long for a key, and is asked for
    /// one at a time. Other threads that miss a key wait for what is found.
    private let lastRead = Lock<Files.Identity?>(nil)

    init(memory: KeyMemory, indexKey: MasterKey, dataKeys: [DataKey]) {
        precondition(!dataKeys.isEmpty, "A ring has a data key.")
        self.memory = memory
        self.indexKey = indexKey
        namesKey = indexKey.macKey(for: Array("sallyport store collections".utf8))
        state = Lock(State(dataKeys: dataKeys))
    }

    static func generate() -> KeyRing {
        let memory = KeyMemory()
        return KeyRing(
            memory: memory, indexKey: .random(in: memory),
            dataKeys: [DataKey(id: 1, key: .random(in: memory))])
    }

    var dataKeys: [DataKey] { state.withLock { $0.dataKeys } }
    var current: DataKey { state.withLock { $0.dataKeys[$0.dataKeys.count - 1] } }
    var currentID: UInt32 { state.withLock { $0.dataKeys[$0.dataKeys.count - 1].id } }

    /// Nil if the ring never had such a key, or if it was retired before this store was opened.
    func dataKey(id: UInt32) -> MasterKey? {
        if let key = known(id) { return key }
        guard let reader = state.withLock({ $0.reader }) else { return nil }
        readAgain(by: reader)
        return known(id)
    }

    /// Only if the file was replaced.
    private func readAgain(by reader: KeyReader) {
        lastRead.withLock { last in
            let identity = reader.identity
            if last != identity, adoptKeys(of: reader) { last = identity }
        }
    }

    /// - Returns: whether reading the same file another time would change nothing.
    private func adoptKeys(of reader: KeyReader) -> Bool {
        do throws(StoreError) {
            let keys = try reader.dataKeys()
            state.withLock { state in
                state.failure = nil
                for key in keys where !state.dataKeys.contains(where: { $0.id == key.id }) {
                    state.dataKeys.append(key)
                }
            }
            return true
        } catch {
            state.withLock { $0.failure = error }
            // A protector that cannot be asked now can perhaps be the next time. A wrong one stays so.
            return error.code == .wrongKey
        }
    }

    /// Why a data key is missing, if the file that may have it could not be read, such as after a change of the
    /// protector by another process; nil if the key is there, or if the file was read and does not have it.
    func failure(ofKey id: UInt32) -> StoreError? {
        state.withLock { state in
            (state.dataKeys + state.retired).contains { $0.id == id } ? nil : state.failure
        }
    }

    private func known(_ id: UInt32) -> MasterKey? {
        state.withLock { state in (state.dataKeys + state.retired).first { $0.id == id }?.key }
    }

    /// Makes the ring look for unknown keys in the file, which another process may change.
    func follow(_ reader: KeyReader) { state.withLock { $0.reader = reader } }

    /// The key of a collection's records under a data key; nil if there is no such data key.
    ///
    /// - Parameter info: the collection's derivation input.
    func recordKey(id: UInt32, info: [UInt8]) -> AEADKey? {
        let name = RecordKeyName(id: id, info: info)
        if let key = state.withLock({ $0.recordKeys[name] }) { return key }
        guard let key = dataKey(id: id)?.aeadKey(for: info) else { return nil }
        state.withLock { state in
            if state.recordKeys.count >= Self.cipherLimit { state.recordKeys = [:] }
            state.recordKeys[name] = key
        }
        return key
    }

    /// Adds a data key, which encrypts from now on. Call it when the file with the key is durable.
    ///
    /// Ciphers of collections that are made from now on use it first.
    func add(_ key: DataKey) {
        state.withLock { state in
            state.dataKeys.append(key)
            state.pending = nil
            state.ciphers = [:]
        }
    }

    /// The next data key: the same one until it is added. If the file could not be synced, another process may have
    /// read the key in it, and must not find another one under its number later.
    func makeDataKey() -> DataKey {
        let (pending, highest) = state.withLock { state in
            (state.pending, (state.dataKeys + state.retired).map(\.id).max() ?? 0)
        }
        if let pending { return pending }
        let key = DataKey(id: highest + 1, key: .random(in: memory))
        state.withLock { $0.pending = key }
        return key
    }

    /// Forgets all data keys except the current one. Call it when the file without them is durable.
    func retireOldKeys() {
        state.withLock { state in
            state.retired += state.dataKeys.dropLast()
            state.dataKeys.removeFirst(state.dataKeys.count - 1)
        }
    }

    /// The prefix of the places of a collection's records.
    func identifier(ofCollection name: [UInt8]) -> [UInt8] {
        Array(namesKey.code(name).prefix(RecordCipher.identifierLength))
    }

    func cipher(ofCollection name: [UInt8]) -> RecordCipher { cipher(identifier: identifier(ofCollection: name)) }

    /// The cipher of a collection, made once.
    func cipher(identifier: [UInt8]) -> RecordCipher {
        if let cipher = state.withLock({ $0.ciphers[identifier] }) { return cipher }
        let cipher = RecordCipher(ring: self, identifier: identifier)
        return state.withLock { state in
            if let other = state.ciphers[identifier] { return other }
            if state.ciphers.count >= Self.cipherLimit { state.ciphers = [:] }
            state.ciphers[identifier] = cipher
            return cipher
        }
    }

    /// Clears every key. Call it only for a closed store.
    func clear() {
        state.withLock { ($0.ciphers, $0.recordKeys) = ([:], [:]) }
        memory.clear()
    }
}

extension SymmetricKey {
    var bytes: [UInt8] { unsafe withUnsafeBytes { unsafe Array($0) } }
}
