extension FixedWidthInteger where Self: UnsignedInteger {
    /// The bytes of the number, the least significant first.
    @inlinable package var littleEndianBytes: [UInt8] {
        (0..<Self.bitWidth / 8).map { UInt8(truncatingIfNeeded: self >> (8 * $0)) }
    }

    /// - Parameter bytes: the least significant first; no more than the number holds.
    @inlinable package init(littleEndianBytes bytes: some BidirectionalCollection<UInt8>) {
        self = bytes.reversed().reduce(0) { $0 << 8 | Self($1) }
    }
}
