internal import SallyportWire

/// Collects a request's head, up to and with its empty line.
///
/// A connection carries one request and then the tunnel's bytes, so this is all of HTTP/1.1's framing that a relay
/// needs, and no parser has to leave the pipeline in the middle of a read.
struct ConnectHead {
    enum Progress: Hashable {
        case incomplete
        /// The head has ended; `consumed` bytes of the piece belong to it.
        case complete(consumed: Int)
        case refused(RelayRefusal)
    }

    private(set) var bytes: [UInt8] = []
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    mutating func append(_ piece: some Collection<UInt8>) -> Progress {
        for (index, byte) in piece.enumerated() {
            guard bytes.count < limit else {
                return .refused(.malformed("The request's head is longer than \(limit) bytes.", status: 431))
            }
            let previous = bytes.last
            bytes.append(byte)
            // RFC 9112 §2.2: lines end in CRLF; a CR or an LF alone enables request smuggling.
            if (byte == Self.lineFeed) != (previous == Self.carriageReturn) {
                return .refused(.malformed("A line of the request's head does not end in CRLF."))
            }
            if byte == Self.lineFeed, bytes.suffix(4) == [13, 10, 13, 10] { return .complete(consumed: index + 1) }
        }
        return .incomplete
    }

    private static let carriageReturn = UInt8(ascii: "\r")
    private static let lineFeed = UInt8(ascii: "\n")
}
