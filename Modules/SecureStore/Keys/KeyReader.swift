internal import SallyportBase

/// Reads the data keys again, for who reads beside a process that rotates; only where the file is another one.
struct KeyReader: Sendable {
    private let path: String
    private let protector: any KeyProtector
    private let memory: KeyMemory
    private let last: Lock<Files.Identity?>

    init(path: String, protector: any KeyProtector, memory: KeyMemory) {
        self.path = path
        self.protector = protector
        self.memory = memory
        last = Lock(nil)
    }

    /// None where nothing changed since the last call, or the file cannot be opened.
    func dataKeys() -> [KeyRing.DataKey] {
        let identity = Files.identity(of: "\(path)/\(KeyRingFile.name)")
        let isNew = last.withLock { last in
            defer { last = identity }
            return last != identity
        }
        guard isNew else { return [] }
        return (try? KeyRingFile.open(in: path, protectedBy: protector, memory: memory))?.ring.dataKeys ?? []
    }
}
