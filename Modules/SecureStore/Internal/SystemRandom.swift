internal import CSecureStore

/// Octets from the kernel's generator.
enum SystemRandom {
    static func octets(_ count: Int) -> [UInt8] {
        guard count > 0 else { return [] }
        return unsafe Array(unsafeUninitializedCapacity: count) { out, filled in
            let isFilled = unsafe sp_random(out.baseAddress, count) == 1
            precondition(isFilled, "The kernel gives random octets (getrandom(2) without flags cannot fail).")
            filled = count
        }
    }
}
