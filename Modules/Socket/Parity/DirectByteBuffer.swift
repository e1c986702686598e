public import SallyportBase

/// The documented direct byte buffer: bytes are appended at its end and consumed at its beginning. What is consumed is
/// gone.
///
/// One is a socket's outbound buffer, from which `write()` sends, and one its inbound buffer, in which bytes lie until the
/// app consumes them. Their bytes are the socket's state: each call is whole, and calls of one task come in their order. A
/// buffer keeps its socket.
public struct DirectByteBuffer: Sendable {
    enum Side: Sendable { case inbound, outbound }

    let socket: SecureSocket
    let side: Side

    /// How many bytes it may hold.
    public var limit: ByteCount { socket.limit(of: side) }

    /// Bytes that were not consumed yet.
    public var bytesUnread: Int {
        get async { await socket.count(of: side) }
    }

    // MARK: Appending

    /// Appends bytes. Sends nothing.
    ///
    /// - Throws: `bufferFull` where they are more than there is room for; nothing was appended.
    public func append(_ bytes: some Collection<UInt8> & Sendable) async throws(SocketError) {
        guard await socket.append(bytes, to: side) else {
            throw SocketError(.bufferFull, "The buffer holds at most \(limit).")
        }
    }

    /// Appends text as UTF-8, without a NUL.
    ///
    /// - Throws: as ``append(_:)``.
    public func append(_ text: String) async throws(SocketError) { try await append(text.utf8) }

    /// Appends the bytes that lie at a place in memory, which must stay until the call returns.
    ///
    /// - Throws: as ``append(_:)``.
    public func write(_ bytes: UnsafeRawBufferPointer) async throws(SocketError) {
        let copy = unsafe Array(bytes)
        try await append(copy)
    }

    // MARK: Consuming

    /// Consumes what lies ready, at most `limit` bytes.
    public func read(upTo limit: Int) async -> [UInt8] { await socket.take(upTo: limit, from: side) }

    /// Consumes into a place in memory, which must stay until the call returns; how many bytes there were, at most as many as
    /// there is room for.
    public func read(into buffer: UnsafeMutableRawBufferPointer) async -> Int {
        let bytes = await read(upTo: buffer.count)
        unsafe buffer.copyBytes(from: bytes)
        return bytes.count
    }

    /// Consumes everything; nil where there is nothing.
    public func unreadBytes() async -> [UInt8]? {
        let bytes = await read(upTo: .max)
        return bytes.isEmpty ? nil : bytes
    }

    /// Consumes everything as text; nil, and nothing is consumed, where there is nothing or it is not UTF-8.
    public func unreadText() async -> String? { await socket.takeText(from: side) }
}
