internal import SallyportBase

/// A sequence of `AV_PAIR` (MS-NLMP §2.2.2.1): the server's description of itself, and the client's additions.
package struct TargetInfo: Sendable, Hashable {
    enum Kind {
        static let end = 0
        static let flags = 6
        static let timestamp = 7
        static let targetName = 9
        static let channelBinding = 10
    }

    struct Pair: Sendable, Hashable {
        var kind: Int
        var value: [UInt8]
    }

    /// The most pairs that are read; ten kinds are defined.
    package static let limit = 32

    private(set) var pairs: [Pair] = []

    /// For a server that sends none.
    init() {}

    /// Nil if it is not terminated, has one kind twice, or a time or flags of a wrong length. Bytes after the end are
    /// dropped.
    package init?(_ bytes: [UInt8]) {
        var position = 0
        while true {
            guard position + 4 <= bytes.count else { return nil }
            let (kind, count) = (LittleEndian.half(bytes, at: position), LittleEndian.half(bytes, at: position + 2))
            position += 4
            guard kind != Kind.end else {
                guard count == 0 else { return nil }
                return
            }
            guard count <= bytes.count - position, pairs.count < Self.limit, self[kind] == nil else { return nil }
            pairs.append(Pair(kind: kind, value: Array(bytes[position..<position + count])))
            position += count
            let isWhole =
                switch kind {
                case Kind.timestamp: count == 8
                case Kind.flags: count == 4
                default: true
                }
            guard isWhole else { return nil }
        }
    }

    subscript(kind: Int) -> [UInt8]? {
        get { pairs.first { $0.kind == kind }?.value }
        set {
            pairs.removeAll { $0.kind == kind }
            if let newValue { pairs.append(Pair(kind: kind, value: newValue)) }
        }
    }

    package var bytes: [UInt8] {
        func header(_ kind: Int, _ count: Int) -> [UInt8] {
            UInt16(truncatingIfNeeded: kind).littleEndianBytes
                + UInt16(truncatingIfNeeded: count).littleEndianBytes
        }
        return pairs.flatMap { header($0.kind, $0.value.count) + $0.value } + header(Kind.end, 0)
    }
}
