import HTTPTypes

@testable import SallyportTransport

/// Ours: reads pieces as `HTTP1Connection` does, and looks at nothing else of it.
package struct OwnReader {
    private static let headerLimit = 64 << 10

    private var head: HeadReader
    /// Nil before the head is whole.
    private var reader: BodyReader?
    private let isHead: Bool
    private var rest: [UInt8] = []
    private var body: [UInt8] = []
    private var refusal: String?
    private var isWhole = false
    /// Bytes that were taken.
    private var taken = 0

    /// The fields of an answer's head, which a connection remembers for its next one.
    struct Memory { fileprivate var fields = FieldList(remembers: true) }

    private init(isHead: Bool, after last: FieldList) {
        self.isHead = isHead
        head = HeadReader(limit: Self.headerLimit)
        head.allowsHTTP2 = false
        head.follows(last)
    }

    /// - Parameters:
    ///   - pieces: what each `recv` returns, until the server ends the connection.
    ///   - memory: of the connection.
    static func read(_ pieces: [ArraySlice<UInt8>], isHead: Bool, after memory: inout Memory) -> Reading {
        var reader = OwnReader(isHead: isHead, after: memory.fields)
        for piece in pieces where reader.refusal == nil && !reader.isWhole { reader.take(Array(piece)) }
        let reading = reader.reading()
        memory = reader.head.isWhole ? Memory(fields: reader.head.takeFields()) : Memory()
        return reading
    }

    private mutating func reading() -> Reading {
        if let refusal { return .refused(refusal) }
        if isWhole { return reading(end: taken) }
        return reader?.connectionEnded() == true ? reading(end: nil) : .cut
    }

    private mutating func take(_ piece: [UInt8]) {
        if rest.isEmpty, reader?.takesAsBody(piece.count) == true {
            body += piece
            taken += piece.count
            isWhole = reader?.isWhole == true
            return
        }
        let bytes = rest + piece
        let count = unsafe bytes.withUnsafeBytes { unsafe take($0) }
        taken += count
        rest = Array(bytes[count...])
    }

    /// - Returns: how many bytes were taken.
    private mutating func take(_ bytes: UnsafeRawBufferPointer) -> Int {
        var position = 0
        if reader == nil { unsafe takeHead(bytes, &position) }
        while refusal == nil, let piece = unsafe reader?.next(in: bytes, at: &position) {
            switch piece {
            case .trailer(let range): unsafe took(trailer: UnsafeRawBufferPointer(rebasing: bytes[range]))
            case .body(let range): unsafe body += bytes[range]
            case .more: return position
            case .end:
                isWhole = true
                return position
            case .malformed: refusal = "malformed"
            }
        }
        return position
    }

    private mutating func takeHead(_ bytes: UnsafeRawBufferPointer, _ position: inout Int) {
        switch unsafe head.read(bytes, at: &position) {
        case .whole: reader = BodyReader(head.framing.bodyLength(isHead: isHead), lineLimit: Self.headerLimit)
        case .more:
            if head.framing.status == 0, unsafe !Self.mayBeHTTP(bytes[position...]) { refusal = "not HTTP" }
        case let outcome: refusal = "\(outcome)"
        }
    }

    private static func mayBeHTTP(_ line: Slice<UnsafeRawBufferPointer>) -> Bool {
        unsafe zip(line, "HTTP/1.".utf8).allSatisfy { $0 == $1 }
    }

    private mutating func took(trailer line: UnsafeRawBufferPointer) {
        let outcome = unsafe head.readTrailer(line)
        if outcome != .whole { refusal = "\(outcome)" }
    }

    private func reading(end: Int?) -> Reading {
        let response = head.response
        let answer = Answer(
            status: response.status.code, fields: Self.fields(response.headerFields), body: body,
            trailers: Self.fields(head.trailerFields ?? [:]), hints: head.earlyHints.map(Self.fields),
            keepsConnection: head.framing.keepsConnection && end != nil)
        return .whole(answer, end: end)
    }

    private static func fields(_ fields: HTTPFields) -> [Answer.Field] {
        fields.map { field in
            Answer.Field(
                name: Array(field.name.rawName.utf8), value: unsafe field.withUnsafeBytesOfValue { unsafe Array($0) })
        }
    }
}
