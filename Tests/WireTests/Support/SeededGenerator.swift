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
    /// A valid input with a few bytes changed, dropped or put in; now and then bytes at random.
    mutating func mutation(of seed: [UInt8]) -> [UInt8] {
        guard Int.random(in: 0..<10, using: &self) > 0 else {
            return (0..<Int.random(in: 0...64, using: &self)).map { _ in UInt8.random(in: 0...255, using: &self) }
        }
        var bytes = seed
        for _ in 0..<Int.random(in: 1...4, using: &self) where !bytes.isEmpty {
            let place = Int.random(in: bytes.indices, using: &self)
            switch Int.random(in: 0..<4, using: &self) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &self)
            case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &self)
            case 2: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...8, using: &self)))
            default: bytes.insert(bytes.randomElement(using: &self) ?? 0, at: place)
            }
        }
        return bytes
    }
}
