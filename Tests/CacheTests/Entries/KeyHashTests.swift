import Testing

@testable import SallyportCache

@Suite struct KeyHashTests {
    /// The words of a text are taken at once; where they begin depends on what was hashed before.
    @Test(arguments: 0..<17) func aTextHashesLikeItsBytes(_ before: Int) {
        let text = (0..<40).map { UInt8(65 + $0 % 26) }
        for length in 0...text.count {
            var (whole, single) = (KeyHash(key: Array(0..<16)), KeyHash(key: Array(0..<16)))
            for octet in 0..<before {
                whole.combine(octet: UInt8(octet))
                single.combine(octet: UInt8(octet))
            }
            var array = whole
            for octet in text[..<length] { single.combine(octet: octet) }
            whole.combine(String(decoding: text[..<length], as: UTF8.self))
            array.combine(Array(text[..<length]))
            for octet in text {
                whole.combine(octet: octet)
                single.combine(octet: octet)
                array.combine(octet: octet)
            }
            let expected = single.finalize()
            #expect(whole.finalize() == expected && array.finalize() == expected, "\(length) bytes")
        }
    }
}
