/// Bytes that are appended at the end and consumed at the beginning, up to a limit.
struct ByteQueue: Sendable, Equatable {
    /// How many bytes it may hold, but for ``fill(_:)``.
    let limit: Int
    private var bytes: [UInt8] = []
    /// How many of them were consumed.
    private var head = 0

    init(limit: Int) { self.limit = limit }

    var count: Int { bytes.count - head }
    var isFull: Bool { count >= limit }

    /// - Returns: false where they are more than there is room for; nothing was appended.
    mutating func append(_ more: some Collection<UInt8>) -> Bool {
        guard count + more.count <= limit else { return false }
        bytes += more
        return true
    }

    /// Takes what came, which may be more than the limit: whoever brings it waits for room before the next.
    mutating func fill(_ more: [UInt8]) { bytes += more }

    /// Consumes what there is, at most `limit` bytes.
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

    /// Consumes everything as text; nil, and nothing is consumed, where there is nothing or it is not UTF-8.
    mutating func takeText() -> String? {
        guard count > 0, let text = String(validating: bytes[head...], as: UTF8.self) else { return nil }
        (bytes, head) = ([], 0)
        return text
    }

    mutating func clear() { (bytes, head) = ([], 0) }
}
