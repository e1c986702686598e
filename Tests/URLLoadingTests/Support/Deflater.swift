import CZlib

/// Compresses as servers do, for tests.
enum Deflater {
    enum Format: Int32, CaseIterable {
        case gzip = 31
        case zlib = 15
        case raw = -15
    }

    static func compress(_ bytes: [UInt8], _ format: Format = .gzip, level: Int32 = 6) -> [UInt8] {
        var stream = z_stream()
        deflateInit2_(
            &stream, level, Z_DEFLATED, format.rawValue, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        defer { deflateEnd(&stream) }
        var input = bytes
        let bound = Int(deflateBound(&stream, UInt(bytes.count))) + 64
        return [UInt8](unsafeUninitializedCapacity: bound) { output, count in
            input.withUnsafeMutableBufferPointer { input in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                deflate(&stream, Z_FINISH)
            }
            count = bound - Int(stream.avail_out)
        }
    }
}

/// SplitMix64: random inputs that are the same in each run.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    /// The bytes in random pieces, none empty.
    mutating func cut(_ bytes: [UInt8], upTo length: Int) -> [[UInt8]] {
        var rest = bytes[...]
        var chunks: [[UInt8]] = []
        while !rest.isEmpty {
            let count = Int.random(in: 1...length, using: &self)
            chunks.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return chunks
    }
}
