import SallyportWire
import Testing

@testable import SallyportKerberos

@Suite("SPNEGO") struct SPNEGOTests {
    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = hexadecimal.filter { !$0.isWhitespace }
        return stride(from: 0, to: digits.count, by: 2).compactMap { index in
            UInt8(digits.dropFirst(index).prefix(2), radix: 16)
        }
    }

    @Test("An offer is what others write") func offer() throws {
        // Written by hand after RFC 4178 §4.2 and RFC 2743 §3.1.
        let known = Self.bytes(
            """
            60 20 06 06 2b0601050502 a0 16 30 14 a0 0d 30 0b 06 09 2a864886f712010202 a2 03 04 01 ff
            """)
        #expect(try SPNEGOToken(parsing: known) == .offer(SPNEGOOffer([.kerberos], token: [0xff])))
        #expect(SPNEGOToken.offer(SPNEGOOffer([.kerberos], token: [0xff])).serialized == known)
    }

    @Test("What a code over the list is over is the list alone") func list() {
        let offer = SPNEGOOffer([.kerberos, .kerberosOfWindows], token: nil)
        #expect(
            offer.list
                == Self.bytes("30 16 06 09 2a864886f712010202 06 09 2a864882f712010202"))
    }

    @Test("An answer as Apache and Windows write them") func answer() throws {
        let known = Self.bytes("a1 14 30 12 a0 03 0a 01 00 a1 0b 06 09 2a864886f712010202")
        let answer = SPNEGOToken.answer(SPNEGOAnswer(.completed, mechanism: .kerberos))
        #expect(try SPNEGOToken(parsing: known) == answer)
        #expect(answer.serialized == known)
        let windows = Self.bytes("a1 18 30 16 a0 03 0a 01 01 a1 0b 06 09 2a864882f712010202 a2 02 04 00")
        let parsed = try SPNEGOToken(parsing: windows)
        #expect(parsed == .answer(SPNEGOAnswer(.incomplete, mechanism: .kerberosOfWindows, token: [])))
    }

    @Test("Every part survives") func roundTrip() throws {
        for count in [0, 1, 127, 128, 255, 256, 40_000] {
            let bytes = [UInt8](repeating: 7, count: count)
            let answer = SPNEGOToken.answer(
                SPNEGOAnswer(.wantsListCode, mechanism: .negotiation, token: bytes, listCode: [1]))
            #expect(try SPNEGOToken(parsing: answer.serialized) == answer)
            let token = KerberosToken(.reply, bytes + [1])
            #expect(try KerberosToken(parsing: token.serialized) == token)
        }
    }

    @Test("One byte over the limit is refused") func limit() throws {
        let frame = GSSToken(.kerberos, []).serialized.count
        // The length takes two bytes more from 256 on.
        let longest = GSSToken.maximumLength - frame - 2
        let token = GSSToken(.kerberos, [UInt8](repeating: 1, count: longest))
        #expect(token.serialized.count == GSSToken.maximumLength)
        #expect(try GSSToken(parsing: token.serialized) == token)
        let longer = GSSToken(.kerberos, [UInt8](repeating: 1, count: longest + 1)).serialized
        #expect(throws: WireError(.tooLarge, "")) { try GSSToken(parsing: longer) }
        #expect(throws: WireError(.tooLarge, "")) { try SPNEGOToken(parsing: longer) }
        let many = [GSSMechanism](repeating: .kerberos, count: SPNEGOOffer.maximumMechanisms)
        _ = try SPNEGOToken(parsing: SPNEGOToken.offer(SPNEGOOffer(many, token: nil)).serialized)
        let more = SPNEGOToken.offer(SPNEGOOffer(many + [.kerberos], token: nil)).serialized
        #expect(throws: WireError(.tooLarge, "")) { try SPNEGOToken(parsing: more) }
    }

    @Test(
        "What is not DER, or not SPNEGO, is refused",
        arguments: [
            "", "60", "6080", "a1 00", "a1 02 30 01", "a1 80 30 00 00 00",
            // A length longer than it has to be; one of five bytes.
            "a1 81 02 30 00", "a1 82 00 02 30 00", "a1 85 00 00 00 00 02 30 00",
            // Something behind the token, and in it.
            "a1 02 30 00 00", "a1 04 30 00 30 00", "a1 04 30 02 05 00",
            // A state that there is none of, of two bytes, of another type; parts in another order.
            "a1 07 30 05 a0 03 0a 01 04", "a1 08 30 06 a0 04 0a 02 00 00", "a1 07 30 05 a0 03 02 01 00",
            "a1 0b 30 09 a2 02 04 00 a0 03 0a 01 00",
            // An offer of nothing; a mechanism without a number.
            "60 12 06 06 2b0601050502 a0 08 30 06 a0 02 30 00 a2 00", "a1 06 30 04 a1 02 06 00",
        ])
    func refused(_ hexadecimal: String) {
        #expect(throws: WireError(.malformed, "")) { try SPNEGOToken(parsing: Self.bytes(hexadecimal)) }
    }

    @Test("Another mechanism's token is none of Kerberos") func otherMechanism() {
        let token = GSSToken(.negotiation, [1, 0, 1]).serialized
        #expect(throws: WireError(.unsupported, "")) { try KerberosToken(parsing: token) }
        let kerberos = GSSToken(.kerberos, [1, 0, 1]).serialized
        #expect(throws: WireError(.unsupported, "")) { try SPNEGOToken(parsing: kerberos) }
        #expect(throws: WireError(.malformed, "")) {
            try KerberosToken(parsing: GSSToken(.kerberos, [4, 4, 0]).serialized)
        }
        #expect(throws: WireError(.malformed, "")) {
            try KerberosToken(parsing: GSSToken(.kerberos, [2, 0]).serialized)
        }
    }
}
