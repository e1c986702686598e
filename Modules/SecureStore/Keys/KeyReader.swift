/// Reads the data keys again, for who reads beside a process that rotates; only where the file is another one.
struct KeyReader: Sendable {
    let path: String
    let protector: any KeyProtector
    let memory: KeyMemory

    /// Another one where the file is.
    var identity: Files.Identity? { Files.identity(of: "\(path)/\(KeyRingFile.name)") }

    /// None where the file cannot be opened.
    func dataKeys() -> [KeyRing.DataKey] {
        (try? KeyRingFile.open(in: path, protectedBy: protector, memory: memory))?.ring.dataKeys ?? []
    }
}
