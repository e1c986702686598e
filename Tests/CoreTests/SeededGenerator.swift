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
}

extension SeededGenerator {
    /// Text of pieces that parsers trip over, mixed with any scalars.
    mutating func text(upTo length: Int, of pieces: [String]) -> String {
        var text = ""
        for _ in 0..<Int.random(in: 0...length, using: &self) {
            if Int.random(in: 0..<5, using: &self) == 0 {
                text.unicodeScalars.append(Unicode.Scalar(UInt32.random(in: 0...0x2ff, using: &self)) ?? "?")
            } else {
                text += pieces.randomElement(using: &self) ?? ""
            }
        }
        return text
    }
}
