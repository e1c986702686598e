extension FixedWidthInteger where Self: UnsignedInteger {
    /// The bytes of the number, the most significant first.
    @inlinable package var bigEndianBytes: [UInt8] {
        (0..<Self.bitWidth / 8).map { UInt8(truncatingIfNeeded: self >> (Self.bitWidth - 8 - 8 * $0)) }
    }

    /// - Parameter bytes: the bytes, the most significant first. If there are more than the number holds, the last
    ///   ones count.
    @inlinable package init(bigEndianBytes bytes: some Sequence<UInt8>) {
        self = bytes.reduce(0) { $0 << 8 | Self($1) }
    }
}
