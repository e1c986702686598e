import COpenSSL
import Testing

@testable import SallyportSecureStore

/// Public vectors: XAES-256-GCM from https://c2sp.org/XAES-256-GCM ("Test vectors", CC BY 4.0), HMAC-SHA-256 from RFC 4231,
/// HKDF-Expand from RFC 5869 (A.1's pseudorandom key has the length that ours have).
@Suite struct CipherVectorTests {
    private let memory = KeyMemory()

    @Test(
        arguments: [
            (1, "", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"),
            (3, "c2sp.org/XAES-256-GCM", "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"),
        ] as [(UInt8, String, String)])
    func theSpecificationsVectors(_ byte: UInt8, _ head: String, _ expected: String) throws {
        let key = [UInt8](repeating: byte, count: 32)
        let nonce = Array("ABCDEFGHIJKLMNOPQRSTUVWX".utf8)
        let sealed = seal(Array("XAES-256-GCM".utf8), key, nonce, Array(head.utf8))
        #expect(sealed.hex == expected)
        #expect(open(sealed, key, nonce, Array(head.utf8)) == Array("XAES-256-GCM".utf8))
        #expect(open(sealed, key, nonce, [1]) == nil)
    }

    /// The specification's accumulated test: inputs from one SHAKE-128, ciphertexts into another.
    @Test func theSpecificationsTenThousandRandomInputs() {
        let random = shake128([], 10_000 * (32 + 24 + 2 * 256))
        var position = 0
        func next(_ count: Int) -> [UInt8] {
            defer { position += count }
            return Array(random[position..<position + count])
        }
        var all: [UInt8] = []
        for _ in 0..<10_000 {
            let (key, nonce) = (next(32), next(24))
            let plaintext = next(Int(next(1)[0]))
            let head = next(Int(next(1)[0]))
            let sealed = seal(plaintext, key, nonce, head)
            all += sealed
            if open(sealed, key, nonce, head) != plaintext { Issue.record("what was sealed does not open") }
        }
        #expect(shake128(all, 32).hex == "e6b9edf2df6cec60c8cbd864e2211b597fb69a529160cd040d56c0c210081939")
    }

    @Test(
        arguments: [
            (
                [UInt8](repeating: 0x0b, count: 20), Array("Hi There".utf8),
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
            ),
            (
                Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            (
                [UInt8](repeating: 0xaa, count: 131),
                Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
            ),
        ] as [([UInt8], [UInt8], String)])
    func theCodesOfRFC4231(_ key: [UInt8], _ data: [UInt8], _ expected: String) {
        let mac = key.withUnsafeBytes { MACKey($0, in: memory) }
        #expect(mac.code(data).hex == expected)
        #expect(mac.code(Array(data.prefix(3)), Array(data.dropFirst(3))).hex == expected)
    }

    /// The first 32 bytes of A.1's output, taken as a key themselves.
    @Test func theKeyOfRFC5869() {
        let random: [UInt8] = [
            0x07, 0x77, 0x09, 0x36, 0x2c, 0x2e, 0x32, 0xdf, 0x0d, 0xdc, 0x3f, 0x0d, 0xc4, 0x7b, 0xba, 0x63,
            0x90, 0xb6, 0xc7, 0x3b, 0xb5, 0x0f, 0x9c, 0x31, 0x22, 0xec, 0x84, 0x4a, 0xd7, 0xc2, 0xb3, 0xe5,
        ]
        let expected: [UInt8] = [
            0x3c, 0xb2, 0x5f, 0x25, 0xfa, 0xac, 0xd5, 0x7a, 0x90, 0x43, 0x4f, 0x64, 0xd0, 0x36, 0x2f, 0x2a,
            0x2d, 0x2d, 0x0a, 0x90, 0xcf, 0x1a, 0x5a, 0x4c, 0x5d, 0xb0, 0x2d, 0x56, 0xec, 0xc4, 0xc5, 0xbf,
        ]
        let derived = random.withUnsafeBytes { MasterKey($0, in: memory) }.macKey(for: Array(0xf0...0xf9))
        let key = expected.withUnsafeBytes { MACKey($0, in: memory) }
        #expect(derived.code(Array("Hi There".utf8)) == key.code(Array("Hi There".utf8)))
    }

    private func seal(_ plaintext: [UInt8], _ key: [UInt8], _ nonce: [UInt8], _ head: [UInt8]) -> [UInt8] {
        let key = key.withUnsafeBytes { AEADKey($0, in: memory) }
        var bytes = plaintext + [UInt8](repeating: 0, count: 16)
        let isSealed = bytes.withUnsafeMutableBytes { bytes in
            nonce.withUnsafeBytes { nonce in
                head.withUnsafeBytes { key.seal(bytes, nonce: nonce, authenticating: $0) }
            }
        }
        return isSealed ? bytes : []
    }

    private func open(_ sealed: [UInt8], _ key: [UInt8], _ nonce: [UInt8], _ head: [UInt8]) -> [UInt8]? {
        let key = key.withUnsafeBytes { AEADKey($0, in: memory) }
        var out = [UInt8](repeating: 0, count: sealed.count)
        let isOpen = out.withUnsafeMutableBytes { out in
            sealed.withUnsafeBytes { sealed in
                nonce.withUnsafeBytes { nonce in
                    head.withUnsafeBytes {
                        key.open(sealed, nonce: nonce, authenticating: $0, into: out.baseAddress.unsafelyUnwrapped)
                    }
                }
            }
        }
        return isOpen ? Array(out.prefix(sealed.count - 16)) : nil
    }
}

extension [UInt8] {
    var hex: String { map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }
}

/// As many bytes of SHAKE-128 (FIPS 202), for the vectors alone.
private func shake128(_ bytes: [UInt8], _ count: Int) -> [UInt8] {
    var output = [UInt8](repeating: 0, count: count)
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    let isDone =
        EVP_DigestInit_ex(context, EVP_shake128(), nil) == 1 && EVP_DigestUpdate(context, bytes, bytes.count) == 1
        && EVP_DigestFinalXOF(context, &output, count) == 1
    return isDone ? output : []
}
