/// One answer of a server to a request, cut into the pieces in which it comes.
///
/// As an input it is one byte, then the bytes of the answer: the first says how the answer is cut (the lower seven bits; 0
/// for one piece, 1 for single bytes, else a seed), and by its highest bit that the request is a HEAD.
package struct AnswerCase {
    package let isHead: Bool
    package let bytes: [UInt8]
    private let cut: UInt8
    /// Of single bytes: each costs a system call.
    private static let mostPieces = 100

    package init(input: [UInt8]) {
        isHead = input.first.map { $0 >= 0x80 } ?? false
        cut = (input.first ?? 0) & 0x7f
        bytes = Array(input.dropFirst())
    }

    /// - Parameter borders: where a piece ends in any case.
    package func pieces(upTo end: Int? = nil, borders: Set<Int> = []) -> [ArraySlice<UInt8>] {
        let end = end ?? bytes.count
        var random = SplitMix64(state: UInt64(cut))
        var pieces: [ArraySlice<UInt8>] = []
        var start = 0
        while start < end {
            var stop = min(end, start + length(&random, isLast: pieces.count >= Self.mostPieces))
            if let border = borders.filter({ $0 > start && $0 < stop }).min() { stop = border }
            pieces.append(bytes[start..<stop])
            start = stop
        }
        return pieces
    }

    private func length(_ random: inout SplitMix64, isLast: Bool) -> Int {
        if cut == 0 || isLast { return bytes.count }
        return cut == 1 ? 1 : 1 + random.below(cut < 0x40 ? 24 : 160)
    }
}

/// Numbers that are the same in each run.
package struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    package init(state: UInt64) { self.state = state }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    package mutating func below(_ limit: Int) -> Int { Int(truncatingIfNeeded: next() >> 33) % limit }
}
