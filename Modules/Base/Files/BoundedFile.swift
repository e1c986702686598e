internal import Glibc

/// Reads a file whose path an app, its user or an administrator gave, and which may therefore be anything.
///
/// Opening a FIFO waits for its writer, and `/dev/zero` never ends. So only regular files are read, without waiting,
/// and no more of them than the limit and one byte.
package enum BoundedFile {
    /// Why a file was not read.
    package struct Failure: Error, CustomStringConvertible {
        package enum Reason: Sendable, Hashable {
            case missing, notRegular, tooLong
            /// The number of the system's error.
            case system(Int32)
        }

        package let reason: Reason
        /// Names the path and the reason.
        package let description: String

        fileprivate init(_ reason: Reason, _ description: String) {
            (self.reason, self.description) = (reason, description)
        }

        fileprivate init(system number: Int32, _ path: String) {
            reason = number == ENOENT || number == ENOTDIR ? .missing : .system(number)
            description = "\(path) cannot be read: \(unsafe String(cString: strerror(number)))."
        }
    }

    /// The longest piece, in bytes.
    private static let pieceLength = 64 << 10

    /// The content of a file.
    ///
    /// - Parameters:
    ///   - limit: the longest content, in bytes.
    ///   - isReady: given if a file of any other kind is read too: for the command line, where `<(…)` is a pipe. Waits
    ///     until a descriptor, which does not block, has something to read or has ended; false to give up. The limit
    ///     holds nevertheless.
    package static func read(
        _ path: String, upTo limit: Int, awaiting isReady: ((Int32) -> Bool)? = nil
    ) throws(Failure) -> [UInt8] {
        let descriptor = try opened(path)
        defer { close(descriptor) }
        if isReady == nil { try check(descriptor, path, upTo: limit) }
        var bytes: [UInt8] = []
        try forEachPiece(from: descriptor, path, upTo: limit, isReady) { bytes += $0 }
        return bytes
    }

    /// What is still to be read of an open file.
    ///
    /// - Parameter path: for errors.
    package static func read(
        from descriptor: Int32, named path: String, upTo limit: Int
    ) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        try forEachPiece(from: descriptor, path, upTo: limit, nil) { bytes += $0 }
        return bytes
    }

    /// Calls `body` with the pieces of a regular file, so that not all of it is in memory. An error may come after some
    /// of the pieces.
    package static func forEachPiece(
        of path: String, upTo limit: Int, _ body: ([UInt8]) -> Void
    ) throws(Failure) {
        let descriptor = try opened(path)
        defer { close(descriptor) }
        try check(descriptor, path, upTo: limit)
        try forEachPiece(from: descriptor, path, upTo: limit, nil, body)
    }

    private static func opened(_ path: String) throws(Failure) -> Int32 {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard descriptor >= 0 else { throw Failure(system: errno, path) }
        return descriptor
    }

    private static func check(_ descriptor: Int32, _ path: String, upTo limit: Int) throws(Failure) {
        var info = stat()
        guard unsafe fstat(descriptor, &info) == 0 else { throw Failure(system: errno, path) }
        guard info.st_mode & S_IFMT == S_IFREG else {
            throw Failure(.notRegular, "\(path) is not a regular file.")
        }
        guard info.st_size <= limit else { throw tooLong(path, limit) }
    }

    private static func forEachPiece(
        from descriptor: Int32, _ path: String, upTo limit: Int, _ isReady: ((Int32) -> Bool)?,
        _ body: ([UInt8]) -> Void
    ) throws(Failure) {
        var rest = limit
        while true {
            // The byte behind the limit shows that there is more.
            let count = rest < pieceLength ? rest + 1 : pieceLength
            if let isReady, !isReady(descriptor) { throw Failure(system: ECANCELED, path) }
            // Nil if another reader of the pipe was faster.
            guard let piece = try next(of: descriptor, path, upTo: count, mayBlock: isReady != nil) else { continue }
            guard !piece.isEmpty else { return }
            guard piece.count <= rest else { throw tooLong(path, limit) }
            rest -= piece.count
            body(piece)
        }
    }

    /// Empty at the end of the file.
    ///
    /// - Parameter mayBlock: whether nil is returned for what would have to be waited for.
    private static func next(
        of descriptor: Int32, _ path: String, upTo count: Int, mayBlock: Bool
    ) throws(Failure) -> [UInt8]? {
        var number: Int32 = 0
        let piece = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            var result = unsafe Glibc.read(descriptor, buffer.baseAddress, count)
            while result < 0, errno == EINTR { result = unsafe Glibc.read(descriptor, buffer.baseAddress, count) }
            if result < 0 { number = errno }
            filled = max(0, result)
        }
        if mayBlock, number == EAGAIN { return nil }
        guard number == 0 else { throw Failure(system: number, path) }
        return piece
    }

    private static func tooLong(_ path: String, _ limit: Int) -> Failure {
        Failure(.tooLong, "\(path) is longer than \(limit) bytes.")
    }
}
