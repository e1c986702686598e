internal import Glibc
internal import SallyportCore

/// A Unix socket that listens for this process, in a directory that only its user may enter.
struct LocalListener: Sendable {
    let path: String
    /// Does not block.
    let descriptor: Int32
    private let directory: String

    init() throws(LoadError) {
        var template = Array("/tmp/sallyport.XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw Self.failure("directory", errno) }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        path = "\(directory)/stream"
        let flags = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        descriptor = socket(AF_UNIX, flags, 0)
        guard descriptor >= 0, Self.bind(descriptor, to: path), listen(descriptor, 1) == 0 else {
            let number = errno
            if descriptor >= 0 { _ = close(descriptor) }
            remove()
            throw Self.failure("socket", number)
        }
    }

    /// Removes the socket, so that no further connection is possible. The owner of the descriptor closes it.
    func remove() {
        _ = unsafe unlink(path)
        _ = unsafe rmdir(directory)
    }

    private static func bind(_ descriptor: Int32, to path: String) -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // It is short, and what follows it is zero.
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        return unsafe withUnsafePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.bind(descriptor, $0, length) == 0
            }
        }
    }

    private static func failure(_ what: String, _ number: Int32) -> LoadError {
        LoadError(.cannotConnect, at: .connect, "The system gave no \(what) in /tmp for a stream: \(number).")
    }
}
