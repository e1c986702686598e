extension Duration {
    /// The duration in milliseconds, rounded toward zero, and limited as ``wholeNanoseconds``.
    package var wholeMilliseconds: Int64 { wholeNanoseconds / 1_000_000 }

    /// The duration in nanoseconds, at most some 292 years, rounded toward zero.
    package var wholeNanoseconds: Int64 {
        let attoseconds = attoseconds
        // A nanosecond is 1,953,125 times 2⁹ attoseconds. So the division is one of 64 bits for limits of time up to an
        // hour, several of which are in each request.
        guard attoseconds >= 0, let units = Int64(exactly: attoseconds >> 9) else {
            return Int64(clamping: attoseconds / 1_000_000_000)
        }
        return units / 1_953_125
    }
}
