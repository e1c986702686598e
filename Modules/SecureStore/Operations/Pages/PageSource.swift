internal import Glibc

/// A source of a data file's bytes: the file, or a test.
protocol PageSource {
    /// In bytes.
    var length: Int { get }

    /// Up to `count` bytes from `offset` on; fewer at the end of the file.
    func bytes(at offset: Int, count: Int) throws(StoreError) -> [UInt8]
}

/// A data file, read with `pread`: a damaged or missing page cannot end the process, as it could through a map.
@safe
final class PageFile: PageSource, Sendable {
    private let descriptor: Int32
    let length: Int
    /// While this object exists, no other file has the same.
    let identity: FileIdentity
    private let isStopped: @Sendable () -> Bool

    /// - Parameter isStopped: called before each read; if it returns true, the read throws
    ///   ``StoreError/Code/cancelled``.
    init(_ path: String, isStopped: @escaping @Sendable () -> Bool = { Task.isCancelled }) throws(StoreError) {
        self.isStopped = isStopped
        descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw errno == ENOENT ? StoreError(.notFound, "There is no file \(path).") : Files.failure("read", path)
        }
        var info = stat()
        guard unsafe fstat(descriptor, &info) == 0 else {
            let failure = Files.failure("look at", path)
            close(descriptor)
            throw failure
        }
        length = Int(info.st_size)
        identity = FileIdentity(info)
    }

    deinit { close(descriptor) }

    func bytes(at offset: Int, count: Int) throws(StoreError) -> [UInt8] {
        guard !isStopped() else { throw StoreError(.cancelled, "The check was cancelled.") }
        guard offset >= 0, offset < length, count > 0 else { return [] }
        var number: Int32 = 0
        let wanted = min(count, length - offset)
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: wanted) { buffer, filled in
            while filled < wanted {
                let count = unsafe pread(
                    descriptor, buffer.baseAddress.map { unsafe $0 + filled }, wanted - filled, off_t(offset + filled))
                if count < 0, errno == EINTR { continue }
                if count < 0 { number = errno }
                guard count > 0 else { return }
                filled += count
            }
        }
        guard number == 0 else {
            throw StoreError(.fileSystem, "The data file cannot be read: \(unsafe String(cString: strerror(number))).")
        }
        return bytes
    }
}
