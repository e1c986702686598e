extension [UInt8] {
    /// Bytes of the system's generator, which are random enough for secrets.
    package static func random(count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        // All eight bytes of a number are used, since each number costs a call into the kernel.
        while bytes.count < count { bytes += generator.next().bigEndianBytes.prefix(count - bytes.count) }
        return bytes
    }
}
