internal import Crypto
internal import SallyportBase

/// The store's own keys: random, made with the store, never stored unwrapped.
///
/// The index key hides names and finds records, and stays. Data keys encrypt records; each record names its one, so
/// that a new data key serves at once and the old records follow.
final class KeyRing: Sendable {
    struct DataKey: Sendable {
        let id: UInt32
        let key: MasterKey
    }

    private struct State {
        /// Those in the file; the last one encrypts.
        var dataKeys: [DataKey]
        /// Out of the file, but readers of this process may still see records under them.
        var retired: [DataKey] = []
        var ciphers: [[UInt8]: RecordCipher] = [:]
        /// Those of collections' records that no ``RecordKeys`` has at hand.
        var recordKeys: [RecordKeyName: AEADKey] = [:]
        /// Of a reader beside a process that rotates, and the file that it read last.
        var reader: KeyReader?
        var lastRead: Files.Identity?
    }

    private struct RecordKeyName: Hashable {
        let id: UInt32
        let info: [UInt8]
    }

    /// How many collections' keys are kept ready, and how many of their other keys.
    private static let cipherLimit = 1024

    let memory: KeyMemory
    let indexKey: MasterKey
    private let namesKey: MACKey
    private let state: Lock<State>

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

    /// Nil where no such key was ever in the ring, or it was retired before this store was opened.
    func dataKey(id: UInt32) -> MasterKey? {
        if let key = known(id) { return key }
        guard let reader = state.withLock({ $0.reader }) else { return nil }
        readAgain(by: reader)
        return known(id)
    }

    /// Only where the file is another one.
    private func readAgain(by reader: KeyReader) {
        let identity = reader.identity
        let isNew = state.withLock { state in
            defer { state.lastRead = identity }
            return state.lastRead != identity
        }
        guard isNew else { return }
        let keys = reader.dataKeys()
        state.withLock { state in
            for key in keys where !state.dataKeys.contains(where: { $0.id == key.id }) { state.dataKeys.append(key) }
        }
    }

    private func known(_ id: UInt32) -> MasterKey? {
        state.withLock { state in (state.dataKeys + state.retired).first { $0.id == id }?.key }
    }

    /// Keys that are not known are looked for in the file, which a process beside may change.
    func follow(_ reader: KeyReader) { state.withLock { $0.reader = reader } }

    /// The key of a collection's records under a data key; nil where there is no such data key.
    ///
    /// - Parameter info: the collection's.
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

    /// Adds a data key, which encrypts from now on. Call when the file with it is on the disk.
    ///
    /// Collections that are named from now on have it at hand.
    func add(_ key: DataKey) {
        state.withLock { state in
            state.dataKeys.append(key)
            state.ciphers = [:]
        }
    }

    func makeDataKey() -> DataKey {
        let highest = state.withLock { state in (state.dataKeys + state.retired).map(\.id).max() ?? 0 }
        return DataKey(id: highest + 1, key: .random(in: memory))
    }

    /// Forgets all data keys but the current one. Call when the file without them is on the disk.
    func retireOldKeys() {
        state.withLock { state in
            state.retired += state.dataKeys.dropLast()
            state.dataKeys.removeFirst(state.dataKeys.count - 1)
        }
    }

    /// What a collection's records begin with in the tree.
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

    /// Clears every key. Only for a closed store.
    func clear() {
        state.withLock { ($0.ciphers, $0.recordKeys) = ([:], [:]) }
        memory.clear()
    }
}

extension SymmetricKey {
    var octets: [UInt8] { unsafe withUnsafeBytes { unsafe Array($0) } }
}
