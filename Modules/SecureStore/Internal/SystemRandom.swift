internal import CSecureStore

/// Random bytes from the kernel's generator, as `[UInt8].random(count:)` has them. Here they come in one call, since a
/// file is overwritten with many, and go straight into their memory, so that no part of a key stays anywhere else.
enum SystemRandom {
    static func bytes(_ count: Int) -> [UInt8] {
        guard count > 0 else { return [] }
        return unsafe Array(unsafeUninitializedCapacity: count) { out, filled in
            unsafe fill(UnsafeMutableRawPointer(out.baseAddress.unsafelyUnwrapped), count)
            filled = count
        }
    }

    /// Fills `count` bytes of `memory`.
    static func fill(_ memory: UnsafeMutableRawPointer, _ count: Int) {
        let isFilled = unsafe sp_random(memory, count) == 1
        precondition(isFilled, "The kernel must provide random bytes (getrandom(2) without flags cannot fail).")
    }
}
