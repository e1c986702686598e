internal import SallyportBase

/// MD4 (RFC 1320). Broken long ago; used only for NTLM's password hash.
package enum MD4 {
    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var message = bytes + [0x80]
        message += [UInt8](repeating: 0, count: (120 - message.count % 64) % 64)
        message += (UInt64(bytes.count) &* 8).littleEndianBytes
        var state = State()
        for start in stride(from: 0, to: message.count, by: 64) {
            let words = (0..<16).map { LittleEndian.word(message, at: start + 4 * $0) }
            state.take(words)
        }
        return [state.a, state.b, state.c, state.d].flatMap { $0.littleEndianBytes }
    }

    /// §3.3.
    private struct State {
        var a: UInt32 = 0x6745_2301
        var b: UInt32 = 0xefcd_ab89
        var c: UInt32 = 0x98ba_dcfe
        var d: UInt32 = 0x1032_5476

        mutating func take(_ words: [UInt32]) {
            let before = self
            for step in 0..<16 {
                turn((b & c) | (~b & d), words[step], 0, [3, 7, 11, 19][step % 4])
            }
            for step in 0..<16 {
                let index = step / 4 + step % 4 * 4
                turn((b & c) | (b & d) | (c & d), words[index], 0x5a82_7999, [3, 5, 9, 13][step % 4])
            }
            for step in 0..<16 {
                turn(b ^ c ^ d, words[Self.third[step]], 0x6ed9_eba1, [3, 9, 11, 15][step % 4])
            }
            a &+= before.a
            b &+= before.b
            c &+= before.c
            d &+= before.d
        }

        private static let third = [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15]

        /// One step; the four words rotate, so that each step is written with `a` as the word that changes.
        private mutating func turn(_ mixed: UInt32, _ word: UInt32, _ constant: UInt32, _ shift: UInt32) {
            let sum = a &+ mixed &+ word &+ constant
            (a, b, c, d) = (d, sum << shift | sum >> (32 - shift), b, c)
        }
    }
}
