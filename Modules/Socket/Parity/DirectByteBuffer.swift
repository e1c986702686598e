public import SallyportBase

/// A byte buffer of a socket: bytes are appended at its end and consumed at its beginning. Consumed bytes are removed.
///
/// Each socket has an outbound buffer, from which `write()` sends, and an inbound buffer, in which received bytes stay
/// until the app consumes them. The bytes are the socket's state: each call is atomic, and calls of one task keep their
/// order. A buffer keeps its socket alive.
public struct DirectByteBuffer: Sendable {
    enum Side: Sendable { case inbound, outbound }

    let socket: SecureSocket
    let side: Side

    /// The greatest number of bytes that it can hold.
    public var limit: ByteCount { socket.limit(of: side) }

    /// The number of bytes that have not been consumed yet.
    public var bytesUnread: Int {
        get async { await socket.count(of: side) }
    }

    // MARK: Appending

    /// Appends bytes. Sends nothing.
    ///
    /// - Throws: `bufferFull` if there is not enough room; then nothing was appended.
    public func append(_ bytes: some Collection<UInt8> & Sendable) async throws(SocketError) {
        guard await socket.append(bytes, to: side) else {
            throw SocketError(.bufferFull, "The buffer holds at most \(limit).")
        }
    }

    /// Appends text as UTF-8, without a NUL.
    ///
    /// - Throws: as ``append(_:)``.
    public func append(_ text: String) async throws(SocketError) { try await append(text.utf8) }

    /// Appends bytes from memory, which must stay valid until the call returns.
    ///
    /// - Throws: as `append` does.
    public func write(_ bytes: UnsafeRawBufferPointer) async throws(SocketError) {
        let copy = unsafe Array(bytes)
        try await append(copy)
    }

    // MARK: Consuming

    /// Consumes the available bytes, at most `limit`.
    public func read(upTo limit: Int) async -> [UInt8] { await socket.take(upTo: limit, from: side) }

    /// Consumes bytes into memory, which must stay valid until the call returns. Returns the number of bytes, at most
    /// as many as there is room for.
    public func read(into buffer: UnsafeMutableRawBufferPointer) async -> Int {
        let bytes = await read(upTo: buffer.count)
        unsafe buffer.copyBytes(from: bytes)
        return bytes.count
    }

    /// Consumes everything; nil if there is nothing.
    public func unreadBytes() async -> [UInt8]? {
        let bytes = await read(upTo: .max)
        return bytes.isEmpty ? nil : bytes
    }

    /// Consumes everything as text. Returns nil, and consumes nothing, if there is nothing or it is not UTF-8.
    public func unreadText() async -> String? { await socket.takeText(from: side) }
}
