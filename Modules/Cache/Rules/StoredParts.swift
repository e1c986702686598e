/// The ranges of the complete content that an incomplete response has (RFC 9111 §3.3), in order; they neither touch nor
/// overlap.
struct StoredParts: Sendable, Hashable {
    /// The greatest number of ranges in one entry.
    static let limit = 16

    /// The length of the complete content in bytes.
    let total: Int64
    private(set) var ranges: [ContentRange]

    init(_ range: ContentRange) {
        total = range.total
        ranges = [range]
    }

    /// Nil if the ranges are not as the type says.
    init?(total: Int64, _ ranges: [ContentRange]) {
        guard !ranges.isEmpty, ranges.count <= Self.limit, ranges.allSatisfy({ $0.total == total }) else { return nil }
        for (one, next) in zip(ranges, ranges.dropFirst()) where one.last >= next.first - 1 { return nil }
        self.total = total
        self.ranges = ranges
    }

    /// The number of stored bytes.
    var count: Int64 { ranges.reduce(0) { $0 + $1.count } }
    var isWhole: Bool { ranges[0].isWhole }
    var text: String { "bytes \(ranges.map { "\($0.first)-\($0.last)" }.joined(separator: ","))/\(total)" }

    /// The offset of a range in the stored bytes, in which the parts follow one another; nil if any of the range is
    /// missing.
    func offset(of range: ContentRange) -> Int64? {
        var offset: Int64 = 0
        for part in ranges {
            if part.contains(range) { return offset + range.first - part.first }
            offset += part.count
        }
        return nil
    }

    /// The shortest range that contains everything missing of another; nil if nothing is missing.
    func missing(of range: ContentRange) -> ContentRange? {
        var (first, last) = (range.first, range.last)
        if let part = ranges.first(where: { $0.first <= first && first <= $0.last }) { first = part.last + 1 }
        if let part = ranges.first(where: { $0.first <= last && last <= $0.last }) { last = part.first - 1 }
        return ContentRange(first: first, last: last, total: total)
    }
}

/// The bytes of an incomplete response, one part after another.
struct PartialBody: Sendable, Hashable {
    private(set) var parts: StoredParts
    private(set) var bytes: [UInt8]

    init(_ range: ContentRange, _ bytes: [UInt8]) { self.init(StoredParts(range), bytes) }

    init(_ parts: StoredParts, _ bytes: [UInt8]) {
        self.parts = parts
        self.bytes = bytes
    }

    private struct Piece {
        var range: ContentRange
        var bytes: ArraySlice<UInt8>
    }

    /// The body with the bytes of another range added; in an overlap the new bytes are used. If that makes more parts
    /// than ``StoredParts/limit``, the shortest of the other parts are dropped.
    ///
    /// - Returns: nil if the range is not one of the same complete content.
    func adding(_ range: ContentRange, _ new: [UInt8]) -> PartialBody? {
        guard range.total == parts.total else { return nil }
        var pieces = rest(outside: range)
        pieces.append(Piece(range: range, bytes: new[...]))
        pieces.sort { $0.range.first < $1.range.first }
        var runs = Self.runs(of: pieces)
        while runs.count > StoredParts.limit {
            let others = runs.indices.filter { !Self.extent(of: runs[$0], range.total).contains(range) }
            guard let shortest = others.min(by: { Self.count(runs[$0]) < Self.count(runs[$1]) }) else { return nil }
            runs.remove(at: shortest)
        }
        guard let parts = StoredParts(total: range.total, runs.map { Self.extent(of: $0, range.total) }) else {
            return nil
        }
        return PartialBody(parts, runs.joined().flatMap(\.bytes))
    }

    /// What remains of each part before and after a range.
    private func rest(outside range: ContentRange) -> [Piece] {
        var (pieces, offset): ([Piece], Int) = ([], 0)
        for part in parts.ranges {
            let bytes = self.bytes[offset..<(offset + Int(part.count))]
            offset += Int(part.count)
            let before = ContentRange(first: part.first, last: min(part.last, range.first - 1), total: part.total)
            if let before { pieces.append(Piece(range: before, bytes: bytes.prefix(Int(before.count)))) }
            let behind = ContentRange(first: max(part.first, range.last + 1), last: part.last, total: part.total)
            if let behind { pieces.append(Piece(range: behind, bytes: bytes.suffix(Int(behind.count)))) }
        }
        return pieces
    }

    /// Groups pieces that touch into runs.
    private static func runs(of pieces: [Piece]) -> [[Piece]] {
        var runs: [[Piece]] = []
        for piece in pieces {
            if let last = runs.last?.last, last.range.last + 1 == piece.range.first {
                runs[runs.count - 1].append(piece)
            } else {
                runs.append([piece])
            }
        }
        return runs
    }

    private static func extent(of run: [Piece], _ total: Int64) -> ContentRange {
        guard let first = run.first, let last = run.last,
            let range = ContentRange(first: first.range.first, last: last.range.last, total: total)
        else { preconditionFailure("A run has pieces, in their order.") }
        return range
    }

    private static func count(_ run: [Piece]) -> Int64 { run.reduce(0) { $0 + $1.range.count } }
}
