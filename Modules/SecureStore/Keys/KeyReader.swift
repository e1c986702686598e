/// Reads the data keys again if the file was replaced: for a reader beside a process that rotates keys.
struct KeyReader: Sendable {
    let path: String
    let protector: any KeyProtector
    let memory: KeyMemory

    /// The file's identity; changes when the file is replaced.
    var identity: Files.Identity? { Files.identity(of: "\(path)/\(KeyRingFile.name)") }

    /// - Throws: ``StoreError/Code/wrongKey`` if the file is protected by another protector now; otherwise why it
    ///   cannot be opened.
    func dataKeys() throws(StoreError) -> [KeyRing.DataKey] {
        try KeyRingFile.open(in: path, protectedBy: protector, memory: memory).ring.dataKeys
    }
}
