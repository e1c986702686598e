internal import CZlib
internal import SallyportCore
internal import SallyportLoading

/// One zlib stream that inflates.
///
/// Owns zlib's state, which must not move: `inflate` compares its address.
@safe
struct Inflater: ~Copyable {
    /// The longest piece that one call gives.
    static let pieceLength = 64 << 10

    private enum Phase: Equatable {
        /// The first bytes decide between zlib and raw deflate.
        case undecided
        case inflating
        /// At the end of a gzip member; another may follow (RFC 1952 §2.2), or of a deflate stream, where none may.
        case atEnd
    }

    private let coding: ContentCoding
    private let stream: UnsafeMutablePointer<z_stream>
    private var phase: Phase
    private var first: [UInt8] = []
    /// The last call filled its piece, so that zlib may hold more without new input.
    private(set) var mayHoldOutput = false

    init(_ coding: ContentCoding) {
        self.coding = coding
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        phase = coding == .gzip ? .inflating : .undecided
        let code = unsafe inflateInit2_(
            stream, coding == .gzip ? Windows.gzip : Windows.zlib, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        precondition(code == Z_OK, "zlib starts unless memory is out.")
    }

    deinit {
        unsafe inflateEnd(stream)
        unsafe stream.deallocate()
    }

    private enum Windows {
        static let gzip: Int32 = 15 + 16
        static let zlib: Int32 = 15
        static let raw: Int32 = -15
    }

    /// Whether the stream could end here.
    var isAtEnd: Bool { phase == .atEnd }

    /// Inflates `input` from `offset` on and moves `offset` behind what was read.
    ///
    /// - Returns: at most ``pieceLength`` bytes; none if more input is needed.
    /// - Throws: `decodingFailed` if the bytes are not of the coding.
    mutating func inflate(_ input: [UInt8], from offset: inout Int) throws(LoadError) -> [UInt8] {
        mayHoldOutput = false
        switch phase {
        case .undecided: return try decide(input, from: &offset)
        case .inflating: return try step(input, from: &offset)
        case .atEnd:
            guard coding == .gzip, input[offset] == 0x1f else { throw Self.failure("Bytes follow the coded body.") }
            unsafe inflateReset(stream)
            phase = .inflating
            return try step(input, from: &offset)
        }
    }

    /// Two bytes tell zlib's header (RFC 1950 §2.2) from raw deflate.
    private mutating func decide(_ input: [UInt8], from offset: inout Int) throws(LoadError) -> [UInt8] {
        let wanted = min(2 - first.count, input.count - offset)
        first += input[offset..<offset + wanted]
        offset += wanted
        guard first.count == 2 else { return [] }
        let isZlib = first[0] & 0x0f == 8 && (Int(first[0]) << 8 | Int(first[1])) % 31 == 0
        if !isZlib { unsafe inflateReset2(stream, Windows.raw) }
        phase = .inflating
        var start = 0
        return try step(first, from: &start)
    }

    private mutating func step(_ input: [UInt8], from offset: inout Int) throws(LoadError) -> [UInt8] {
        var code: Int32 = Z_OK
        var consumed = 0
        let piece = unsafe [UInt8](unsafeUninitializedCapacity: Self.pieceLength) { output, count in
            unsafe input.withUnsafeBufferPointer { input in
                // SAFETY: zlib only reads `next_in`; its type lacks the `const`.
                unsafe stream.pointee.next_in = UnsafeMutablePointer(
                    mutating: input.baseAddress.map { unsafe $0 + offset })
                unsafe stream.pointee.avail_in = UInt32(clamping: input.count - offset)
                unsafe stream.pointee.next_out = output.baseAddress
                unsafe stream.pointee.avail_out = UInt32(output.count)
                let available = unsafe stream.pointee.avail_in
                unsafe code = CZlib.inflate(stream, Z_NO_FLUSH)
                unsafe consumed = Int(available - stream.pointee.avail_in)
                unsafe count = output.count - Int(stream.pointee.avail_out)
            }
        }
        offset += consumed
        // Z_BUF_ERROR says only that nothing could be done: more input is needed.
        guard code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR else {
            throw Self.failure("The body is not of its content coding (zlib \(code)).")
        }
        if code == Z_STREAM_END { phase = .atEnd }
        mayHoldOutput = code == Z_OK && piece.count == Self.pieceLength
        // Readers count bytes: many pieces of one byte each, as a server may cause them, must not hold 64 KiB each.
        return piece.count < Self.pieceLength / 2 ? unsafe piece.withUnsafeBufferPointer { unsafe Array($0) } : piece
    }

    private static func failure(_ message: String) -> LoadError { LoadError(.decodingFailed, at: .response, message) }
}
