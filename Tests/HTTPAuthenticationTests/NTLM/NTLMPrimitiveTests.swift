import SallyportBase
import Testing

@testable import SallyportHTTPAuthentication

/// The old primitives, against the vectors that were published with them.
struct NTLMPrimitiveTests {
    /// RFC 1320 §A.5.
    @Test(arguments: [
        ("", "31d6cfe0d16ae931b73c59d7e0c089c0"),
        ("a", "bde52cb31de33e46245e05fbdbd6fb24"),
        ("abc", "a448017aaf21d8525fc10ae87aa6729d"),
        ("message digest", "d9130a8164549fe818874806e1c7014b"),
        ("abcdefghijklmnopqrstuvwxyz", "d79e1c308aa5bbcdeea8ed63df412da9"),
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "043f8582f241db351ce627e153e7f0e4"),
        (
            "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
            "e33b4ddc9c38f2199c3e7b164fcc0536"
        ),
    ])
    func md4(_ text: String, _ digest: String) { #expect(hex(MD4.hash(Array(text.utf8))) == digest) }

    /// Every length around the ends of blocks; equal to what OpenSSL's legacy provider says of so many `a`.
    @Test(arguments: [
        (55, "c889c81dd86c4d2e025778944ea02881"), (56, "d5f9a9e9257077a5f08b0b92f348b0ad"),
        (63, "7ea3da77432d44c323671097d1348fc8"), (64, "52f5076fabd22680234a3fa9f9dc5732"),
        (119, "e65dd227ccef97fa1d34d70189120f76"), (120, "b03ddbd470b47c013e0c7ab2ddd763db"),
    ])
    func md4FillsUpBlocks(_ count: Int, _ digest: String) {
        #expect(hex(MD4.hash([UInt8](repeating: UInt8(ascii: "a"), count: count))) == digest)
    }

    /// Known answers of NBS 500-20: the initial permutation with the expansion, the inverse, the permutations of keys and
    /// blocks, and the boxes.
    @Test(arguments: [
        ("0101010101010101", "95f8a5e5dd31d900", "8000000000000000"),
        ("0101010101010101", "0000000000000001", "166b40b44aba4bd6"),
        ("8001010101010101", "0000000000000000", "95a8d72813daa94d"),
        ("0101010101010102", "0000000000000000", "869efd7f9f265a09"),
        ("1046913489980131", "0000000000000000", "88d55e54f54c97b4"),
        ("7ca110454a1a6e57", "01a1d6d039776742", "690f5b0d9a26939b"),
        ("0131d9619dc1376e", "5cd54ca83def57da", "7a389d10354bd271"),
        ("07a1133e4a0b2686", "0248d43806f67172", "868ebb51cab4599a"),
        ("3849674c2602319e", "51454b582ddf440a", "7178876e01f19b2a"),
        ("04b915ba43feb5b6", "42fd443059577fa2", "af37fb421f8c4095"),
        ("0113b970fd34f2ce", "059b5e0851cf143a", "86a560f10ec6d85b"),
        ("0170f175468fb5e6", "0756d8e0774761d2", "0cd3da020021dc09"),
        ("43297fad38e373fe", "762514b829bf486a", "ea676b2cb7db2b7a"),
        ("07a7137045da2a16", "3bdd119049372802", "dfd64a815caf1a0f"),
        ("04689104c2fd3b2f", "26955f6835af609a", "5c513c9c4886c088"),
        ("37d06bb516cb7546", "164d5e404f275232", "0a2aeeae3ff4ab77"),
        ("1f08260d1ac2465e", "6b056e18759f5cca", "ef1bf03e5dfa575a"),
        ("584023641aba6176", "004bd6ef09176062", "88bf0db6d70dee56"),
        ("025816164629b007", "480d39006ee762f2", "a1f9915541020b56"),
        ("49793ebc79b3258f", "437540c8698f3cfa", "6fbf1cafcffd0556"),
        ("4fb05e1515ab73a7", "072d43a077075292", "2f22e49bab7ca1ac"),
        ("49e95d6d4ca229bf", "02fe55778117f12a", "5a6b612cc26cce4a"),
        ("018310dc409b26d6", "1d9d5c5018f728c2", "5f4c038ed12b2e41"),
        ("1c587f1c13924fef", "305532286d6f295a", "63fac0d034d9f793"),
    ])
    func des(_ key: String, _ block: String, _ result: String) {
        #expect(hex(DES(key: bytes(key)).encrypt(bytes(block))) == result)
    }

    /// The 56 bits without parity are the same key: `LMOWFv1` of MS-NLMP §4.2.2.1.1, which nothing here ever sends.
    @Test func desOfBits() {
        let keys = [Array("PASSWOR".utf8), Array("D".utf8) + [UInt8](repeating: 0, count: 6)]
        let hash = keys.flatMap { DES(bits: $0).encrypt(Array("KGS!@#$%".utf8)) }
        #expect(hex(hash) == "e52cac67419a9a224a3b108f3fa6cb6d")
    }

    /// RFC 2202 §2.
    @Test func hmacMD5() {
        let code = NTLMHash.code(Array("what do ya want for nothing?".utf8), Array("Jefe".utf8))
        #expect(hex(code) == "750c783e6ab0b503eaa86e310a5db738")
    }

    @Test(arguments: [
        ("User", "USER"), ("jürgen", "JÜRGEN"), ("straße", "STRAßE"), ("żółć", "ŻÓŁĆ"), ("иван", "ИВАН"),
        ("γιώργος", "ΓΙΏΡΓΟΣ"), ("ıſµ", "ıſµ"), ("ÿ", "Ÿ"), ("ﬁ", "ﬁ"), ("𐐨", "𐐨"), ("名前1", "名前1"),
    ])
    func namesAreInCapitalsUnitByUnit(_ name: String, _ capitals: String) {
        #expect(NTLMText.uppercased(name) == capitals)
        #expect(NTLMText.bytes(NTLMText.uppercased(name)).count == NTLMText.bytes(name).count)
    }

    @Test func textIsLittleEndianUTF16() {
        #expect(NTLMText.bytes("aß€𝄞") == [0x61, 0, 0xdf, 0, 0xac, 0x20, 0x34, 0xd8, 0x1e, 0xdd])
    }

    @Test func usersAreReadInTheThreeWays() {
        #expect(NTLMUser("CORP\\ann") == NTLMUser(domain: "CORP", name: "ann"))
        #expect(NTLMUser("ann@CORP.EXAMPLE") == NTLMUser(domain: "", name: "ann@CORP.EXAMPLE"))
        #expect(NTLMUser("ann") == NTLMUser(domain: "", name: "ann"))
        #expect(NTLMUser("\\ann") == NTLMUser(domain: "", name: "ann"))
        #expect(NTLMUser("A\\b\\c") == NTLMUser(domain: "A", name: "b\\c"))
        for bad in ["", "CORP\\", "a\u{0}", "a\n", String(repeating: "a", count: NTLMUser.longest + 1)] {
            #expect(NTLMUser(bad) == nil)
        }
        #expect(NTLMUser(String(repeating: "a", count: NTLMUser.longest)) != nil)
    }
}

func hex(_ bytes: some Sequence<UInt8>) -> String { Hexadecimal.text(bytes) }

func bytes(_ hex: String) -> [UInt8] {
    let digits = hex.filter { !$0.isWhitespace }.map { $0.hexDigitValue ?? 0 }
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}
