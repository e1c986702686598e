extension Duration {
    /// The duration in nanoseconds, at most some 292 years.
    package var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (sum, overflows) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflows ? (seconds < 0 ? .min : .max) : sum
    }
}
