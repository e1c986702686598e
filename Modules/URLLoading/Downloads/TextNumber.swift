/// A number of a text, the same in each process, which tells texts apart and does not reveal them: FNV-1a, 64 bits.
enum TextNumber {
    static func of(_ text: some StringProtocol) -> UInt64 {
        text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}
