import Testing

@testable import SallyportCache

@Suite struct KeyHashTests {
    /// The words of a text are taken at once; where they begin depends on what was hashed before.
    @Test(arguments: 0..<17) func aTextHashesLikeItsBytes(_ before: Int) {
        let text = (0..<40).map { UInt8(65 + $0 % 26) }
        for length in 0...text.count {
            var (whole, single) = (KeyHash(key: Array(0..<16)), KeyHash(key: Array(0..<16)))
            for byte in 0..<before {
                whole.combine(byte: UInt8(byte))
                single.combine(byte: UInt8(byte))
            }
            var array = whole
            for byte in text[..<length] { single.combine(byte: byte) }
            whole.combine(String(decoding: text[..<length], as: UTF8.self))
            array.combine(Array(text[..<length]))
            for byte in text {
                whole.combine(byte: byte)
                single.combine(byte: byte)
                array.combine(byte: byte)
            }
            let expected = single.finalize()
            #expect(whole.finalize() == expected && array.finalize() == expected, "\(length) bytes")
        }
    }
}
