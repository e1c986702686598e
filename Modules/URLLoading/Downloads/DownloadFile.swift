internal import Glibc
internal import SallyportBase
internal import SallyportCore

/// A file that appears under its name only when it is complete: it is written beside the target, readable only by the
/// process's user, synced, then renamed.
///
/// Releasing it unfinished removes what was written.
struct DownloadFile: ~Copyable {
    private let descriptor: Int32
    private let partPath: String
    private let path: String

    private init(descriptor: Int32, partPath: String, path: String) {
        self.descriptor = descriptor
        self.partPath = partPath
        self.path = path
    }

    /// - Throws: `fileSystem` if the target is a directory, or its directory takes no new file.
    static func make(for path: String) throws(LoadError) -> DownloadFile {
        let base = try HiddenPath.base(for: path)
        let partPath = "\(base).\(String(UInt64.random(in: .min ... .max), radix: 16)).part"
        let descriptor = unsafe open(partPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("No file can be made beside \(path)", errno) }
        return DownloadFile(descriptor: descriptor, partPath: partPath, path: path)
    }

    deinit {
        Glibc.close(descriptor)
        unsafe unlink(partPath)
    }

    func write(_ bytes: [UInt8]) throws(LoadError) { try Self.write(bytes, to: descriptor, for: path) }

    static func write(_ bytes: [UInt8], to descriptor: Int32, for path: String) throws(LoadError) {
        var offset = 0
        while offset < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(descriptor, buffer.baseAddress.map { unsafe $0 + offset }, buffer.count - offset)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("What is downloaded to \(path) cannot be written", errno) }
            offset += count
        }
    }

    /// Syncs the file and gives it its name. Returns when both are durable.
    ///
    /// Waits for the disk on a thread of its own, so that no thread of the caller's pool stands still.
    ///
    /// - Parameter umask: see ``TargetMode/apply(to:_:replacing:umask:)``.
    consuming func commit(umask: mode_t?) async throws(LoadError) {
        let (descriptor, partPath, path) = (descriptor, partPath, path)
        let code = await FileThread.run { Self.publish(descriptor, partPath, as: path, umask: umask) }
        guard code == 0 else { throw Self.failure("\(path) cannot be completed", code) }
    }

    /// 0, or the number of the error.
    static func publish(_ descriptor: Int32, _ partPath: String, as path: String, umask: mode_t?) -> Int32 {
        let code = TargetMode.apply(to: descriptor, partPath, replacing: path, umask: umask)
        guard code == 0 else { return code }
        guard fsync(descriptor) == 0 else { return errno }
        return DurableName.rename(partPath, to: path)
    }

    static func failure(_ what: String, _ code: Int32) -> LoadError {
        LoadError(.fileSystem, "\(what): \(unsafe String(cString: strerror(code))).")
    }
}
