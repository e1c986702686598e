/// Room to read into, one for each loop: a connection that idles keeps none, and what is handed on is as long as what
/// came.
@safe
final class Scratch: @unchecked Sendable {
    // SAFETY: used on its engine's loop only.
    private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)

    deinit { unsafe room.deallocate() }

    /// Reads until there is no more room, or no more to read; what was read, and how the last call ended.
    func chunk(
        _ read: (UnsafeMutableRawBufferPointer) -> TunnelLink.Outcome
    ) -> ([UInt8], TunnelLink.Outcome) {
        var count = 0
        var outcome = TunnelLink.Outcome.moved(0)
        while unsafe count < room.count {
            outcome = unsafe read(UnsafeMutableRawBufferPointer(rebasing: room[count...]))
            guard case .moved(let more) = outcome else { break }
            count += more
        }
        return unsafe (Array(room[..<count]), outcome)
    }
}
