/// Bytes that are appended at the end and consumed at the beginning, up to a limit.
struct ByteQueue: Sendable, Equatable {
    /// The greatest number of bytes that it may hold, except after ``fill(_:)``.
    let limit: Int
    private var bytes: [UInt8] = []
    /// How many bytes at the beginning of the array were consumed.
    private var head = 0

    init(limit: Int) { self.limit = limit }

    var count: Int { bytes.count - head }
    /// Never true of an empty queue, whatever the limit: nothing could be consumed to make room.
    var isFull: Bool { count > 0 && count >= limit }

    /// - Returns: false if there is not enough room; then nothing was appended.
    mutating func append(_ more: some Collection<UInt8>) -> Bool {
        guard count + more.count <= limit else { return false }
        bytes += more
        return true
    }

    /// Appends received bytes, even beyond the limit: the caller waits for room before it receives more.
    mutating func fill(_ more: [UInt8]) { bytes += more }

    /// Consumes the available bytes, at most `limit`.
    mutating func take(upTo limit: Int = .max) -> [UInt8] {
        let count = max(0, min(limit, self.count))
        let taken = head == 0 && count == bytes.count ? bytes : Array(bytes[head..<head + count])
        head += count
        if head == bytes.count {
            (bytes, head) = ([], 0)
        } else if head > 64 << 10, head > bytes.count / 2 {
            bytes.removeFirst(head)
            head = 0
        }
        return taken
    }

    /// Consumes everything as text. Returns nil, and consumes nothing, if there is nothing or it is not UTF-8.
    mutating func takeText() -> String? {
        guard count > 0, let text = String(validating: bytes[head...], as: UTF8.self) else { return nil }
        (bytes, head) = ([], 0)
        return text
    }

    mutating func clear() { (bytes, head) = ([], 0) }
}
