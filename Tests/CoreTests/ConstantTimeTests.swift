import SallyportBase
import Testing

@Suite struct ConstantTimeTests {
    private let bytes: [UInt8] = [1, 2, 3]

    @Test func equalBytesAreEqual() {
        #expect(ConstantTime.areEqual(bytes, [UInt8](1...3)))
        #expect(ConstantTime.areEqual([UInt8](), [UInt8]()))
        #expect(ConstantTime.areEqual("ann", "ann"))
    }

    @Test(arguments: [[], [1, 2], [1, 2, 3, 4], [0, 2, 3], [1, 2, 2]] as [[UInt8]])
    func othersAreNot(_ other: [UInt8]) {
        #expect(!ConstantTime.areEqual(bytes, other))
    }

    @Test func twoSpellingsOfACharacterAreDifferent() {
        let (one, other) = ("\u{fc}", "u\u{308}")
        #expect(one == other)
        #expect(!ConstantTime.areEqual(one, other))
    }
}
