/// Inputs that are the same in each run: what stands in the corpus, changed a little, and random bytes.
struct Mutator: RandomNumberGenerator {
    private static let longest = 192
    private let corpus: [[UInt8]]
    private let words: [[UInt8]]
    private var state: UInt64

    init(_ target: FuzzTarget, corpus: [[UInt8]], seed: UInt64 = 1) {
        self.corpus = corpus
        words = target.words.map { Array($0.utf8) }
        state = target.name.utf8.reduce(seed) { $0 &* 0x100_0000_01b3 ^ UInt64($1) }
    }

    /// SplitMix64.
    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    mutating func nextInput() -> [UInt8] {
        var input: [UInt8] = below(10) > 0 ? corpus.isEmpty ? [] : corpus[below(corpus.count)] : random()
        for _ in 0...below(4) { mutate(&input) }
        return Array(input.prefix(max(Self.longest, corpus.first?.count ?? 0)))
    }

    private mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }

    private mutating func random() -> [UInt8] { (0..<below(64)).map { _ in UInt8(truncatingIfNeeded: next()) } }

    private mutating func mutate(_ input: inout [UInt8]) {
        let place = below(input.count + 1)
        switch below(8) {
        case 0 where place < input.count: input[place] ^= 1 << UInt8(below(8))
        case 1 where place < input.count: input[place] = UInt8(truncatingIfNeeded: next())
        case 2 where place < input.count: input.removeSubrange(place..<min(input.count, place + 1 + below(8)))
        case 3: input.insert(UInt8(truncatingIfNeeded: next()), at: place)
        case 4 where place < input.count:
            input.insert(contentsOf: input[place..<min(input.count, place + 1 + below(16))], at: below(input.count))
        case 5 where !corpus.isEmpty: input = input.prefix(place) + corpus[below(corpus.count)].suffix(below(48))
        case 6: input.removeLast(min(input.count, below(8)))
        default: if !words.isEmpty { input.insert(contentsOf: words[below(words.count)], at: place) }
        }
    }
}
