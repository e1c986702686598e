/// A read buffer, one for each loop, and used on it only: an idle connection has none, and chunks that are passed on have
/// exactly the length of their bytes.
@safe
final class Scratch {
    typealias Read = (UnsafeMutableRawBufferPointer) -> TunnelLink.Outcome

    /// The number of bytes that are read at once: three records, and less than what makes glibc consolidate its heap on
    /// a free.
    static let length = 48 << 10
    /// The number of bytes that are read where a head is expected. What is behind the head is copied once more, so that
    /// the rest of a long body is better read to its place.
    static let headLength = 16 << 10
    private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 16)

    deinit { unsafe room.deallocate() }

    /// Reads until there is no more room, or no more to read; what was read, and how the last call ended.
    ///
    /// - Parameters:
    ///   - limit: the most bytes that are read, if fewer than the buffer has room for.
    ///   - length: how many bytes are likely to come, if that is much: then they are not copied, and memory of this
    ///     length is made for them.
    func chunk(atMost limit: Int = length, filling length: Int? = nil, _ read: Read) -> ([UInt8], TunnelLink.Outcome) {
        var outcome = TunnelLink.Outcome.moved(0)
        guard let length else {
            let room = unsafe UnsafeMutableRawBufferPointer(rebasing: room[..<min(limit, Self.length)])
            let count = unsafe Self.fill(room, &outcome, read)
            return unsafe (Array(room[..<count]), outcome)
        }
        let chunk = unsafe [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
            count = unsafe Self.fill(UnsafeMutableRawBufferPointer(buffer), &outcome, read)
        }
        return (chunk, outcome)
    }

    /// Reads until the room is full, or there is no more to read.
    ///
    /// - Returns: how many bytes were read.
    static func fill(
        _ room: UnsafeMutableRawBufferPointer, _ outcome: inout TunnelLink.Outcome, _ read: Read
    ) -> Int {
        var count = 0
        while count < room.count {
            outcome = unsafe read(UnsafeMutableRawBufferPointer(rebasing: room[count...]))
            if case .drained(let last) = outcome { return count + last }
            guard case .moved(let more) = outcome else { break }
            count += more
        }
        return count
    }

    /// Reads behind what an array has, until this many bytes are there, or there is no more to read.
    ///
    /// - Returns: how many bytes were read, and how the last call of `read` ended.
    static func append(
        atMost count: Int, to bytes: inout [UInt8], _ read: Read
    ) -> (count: Int, outcome: TunnelLink.Outcome) {
        var outcome = TunnelLink.Outcome.moved(0)
        let before = bytes.count
        bytes.append(addingCapacity: count) { span in
            unsafe span.withUnsafeMutableBufferPointer { room, filled in
                let room = unsafe UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(room)[..<count])
                filled = unsafe fill(room, &outcome, read)
            }
        }
        return (bytes.count - before, outcome)
    }

    /// Whether so many bytes are most of what is read at once.
    static func isMuch(_ count: Int) -> Bool { count > length / 2 }
}
