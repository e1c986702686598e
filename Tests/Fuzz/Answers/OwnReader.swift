import HTTPTypes

@testable import SallyportTransport

/// Ours: reads pieces as `HTTP1Connection` does, and looks at nothing else of it.
package struct OwnReader {
    private static let headerLimit = 64 << 10

    private var reader = ResponseReader(lineLimit: headerLimit)
    private var download = Download(headerLimit: headerLimit)
    private let isHead: Bool
    private var rest: [UInt8] = []
    private var body: [UInt8] = []
    private var refusal: String?
    private var isWhole = false
    /// Bytes that were taken.
    private var taken = 0

    private init(isHead: Bool) { self.isHead = isHead }

    /// - Parameter pieces: what each `recv` returns, until the server ends the connection.
    package static func read(_ pieces: [ArraySlice<UInt8>], isHead: Bool) -> Reading {
        var reader = OwnReader(isHead: isHead)
        for piece in pieces where reader.refusal == nil && !reader.isWhole { reader.take(Array(piece)) }
        if let refusal = reader.refusal { return .refused(refusal) }
        if reader.isWhole { return reader.reading(end: reader.taken) }
        return reader.reader.connectionEnded() ? reader.reading(end: nil) : .cut
    }

    private mutating func take(_ piece: [UInt8]) {
        if rest.isEmpty, reader.takesAsBody(piece.count) {
            body += piece
            taken += piece.count
            isWhole = reader.isWhole
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
        while refusal == nil {
            switch unsafe reader.next(in: bytes, at: &position) {
            case .line(let range): unsafe took(line: UnsafeRawBufferPointer(rebasing: bytes[range]))
            case .body(let range): unsafe body += bytes[range]
            case .more:
                if download.status == 0, unsafe !Self.mayBeHTTP(bytes[position...]) { refusal = "not HTTP" }
                return position
            case .end:
                isWhole = true
                return position
            case .tooLong: refusal = "too long"
            case .malformed: refusal = "malformed"
            }
        }
        return position
    }

    private static func mayBeHTTP(_ line: Slice<UnsafeRawBufferPointer>) -> Bool {
        unsafe zip(line, "HTTP/1.".utf8).allSatisfy { $0 == $1 }
    }

    private mutating func took(line: UnsafeRawBufferPointer) {
        let wasWhole = download.isHeadWhole
        if let failure = unsafe download.received(line) {
            refusal = "\(failure)"
            return
        }
        guard !wasWhole, download.isHeadWhole else { return }
        if download.isHTTP2 || download.status == 101 { refusal = "not HTTP/1.1" }
        reader.bodyFollows(download.bodyLength(isHead: isHead))
    }

    private func reading(end: Int?) -> Reading {
        guard let head = try? HeadParser.parse(download.head) else { return .refused("head") }
        let answer = Answer(
            status: head.status.code, fields: Self.fields(head.headerFields), body: body,
            trailers: Self.fields(download.trailerFields ?? [:]),
            hints: download.earlyHints.map { Self.fields(HeadParser.fields(ofHead: $0)) },
            keepsConnection: download.keepsConnection && end != nil)
        return .whole(answer, end: end)
    }

    private static func fields(_ fields: HTTPFields) -> [Answer.Field] {
        fields.map { field in
            Answer.Field(
                name: Array(field.name.rawName.utf8), value: unsafe field.withUnsafeBytesOfValue { unsafe Array($0) })
        }
    }
}
