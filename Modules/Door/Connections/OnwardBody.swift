internal import SallyportTransport

/// Follows the body of one request in absolute form, so that its end is known: what a program sends behind it may be
/// another request, to another server, and goes nowhere. A value without I/O.
struct OnwardBody: Sendable {
    private var reader: BodyReader
    /// An incomplete line, which the reader wants to see again.
    private var held: [UInt8] = []
    private var surplus = 0

    init(_ framing: RequestFraming) {
        let length: BodyReader.Length =
            switch framing {
            case .none: .none
            case .length(let count): .bytes(count)
            case .chunked: .chunked
            }
        reader = BodyReader(length, lineLimit: 16 << 10)
    }

    var isWhole: Bool { reader.isWhole }

    /// - Returns: false if the chunks are broken.
    mutating func take(_ chunk: [UInt8]) -> Bool {
        surplus = 0
        if held.isEmpty, reader.takesAsBody(chunk.count) { return true }
        held += chunk
        var position = 0
        let isSound = unsafe held.withUnsafeBytes { bytes in
            while true {
                switch unsafe reader.next(in: bytes, at: &position) {
                case .body, .trailer: continue
                case .malformed: return false
                case .end, .more: return true
                }
            }
        }
        surplus = held.count - position
        held.removeFirst(position)
        return isSound
    }

    /// What of the chunk that was taken last belongs to the body, once that is whole.
    func lastPart(of chunk: [UInt8]) -> [UInt8] { Array(chunk.dropLast(min(surplus, chunk.count))) }
}
