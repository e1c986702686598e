import Crypto
import SallyportBase
import SallyportCore
import SallyportLoading
import Testing

@testable import SallyportHTTPAuthentication

/// What is read of a server's message, and what is said to it.
struct NTLMMessageTests {
    private static let nonce = [UInt8](1...8)
    private static let credential = Credential(user: "CORP\\jürgen", password: Redacted("pässwörd €"))

    /// A challenge with these pairs.
    private func challenge(
        _ pairs: [(Int, [UInt8])] = [(1, [65, 0])], flags: UInt32 = 0x0088_8205, name: String = "S"
    ) -> [UInt8] {
        var information = pairs.flatMap { UInt16($0).littleEndianBytes + UInt16($1.count).littleEndianBytes + $1 }
        information += [0, 0, 0, 0]
        let target = NTLMText.bytes(name)
        var bytes = NTLMMessage.signature + UInt32(2).littleEndianBytes
        bytes += NTLMMessage.descriptor(target.count, at: 48) + flags.littleEndianBytes + Self.nonce
        bytes += [UInt8](repeating: 0, count: 8) + NTLMMessage.descriptor(information.count, at: 48 + target.count)
        return bytes + target + information
    }

    private func changed(_ bytes: [UInt8], _ offset: Int, _ value: [UInt8]) -> [UInt8] {
        var bytes = bytes
        bytes.replaceSubrange(offset..<offset + value.count, with: value)
        return bytes
    }

    @Test func theFirstMessageContainsNoName() {
        let zeros = String(repeating: "00", count: 16)
        #expect(hex(NTLMExchange.negotiate) == "4e544c4d53535000" + "01000000" + "05820800" + zeros)
    }

    @Test func aChallengeIsRead() throws {
        let read = try #require(NTLMChallenge(challenge([(2, [66, 0]), (7, Self.nonce)])))
        #expect(read.nonce == Self.nonce)
        #expect(read.targetInfo?.pairs.map(\.kind) == [2, 7])
    }

    @Test func everyChallengeThatIsCutIsRefused() {
        let whole = challenge([(2, [66, 0]), (7, Self.nonce)])
        #expect(NTLMChallenge(whole) != nil)
        for count in 0..<whole.count { #expect(NTLMChallenge(Array(whole.prefix(count))) == nil, "\(count) bytes") }
    }

    @Test func invalidChallengesAreRefused() {
        let whole = challenge()
        #expect(NTLMChallenge(changed(whole, 0, [0x6e])) == nil, "another signature")
        #expect(NTLMChallenge(changed(whole, 8, [1])) == nil, "another message")
        #expect(NTLMChallenge(changed(whole, 20, [0x04])) == nil, "no Unicode")
        #expect(NTLMChallenge(changed(whole, 16, UInt32(12).littleEndianBytes)) == nil, "a name in the head")
        #expect(NTLMChallenge(changed(whole, 16, UInt32.max.littleEndianBytes)) == nil, "a name far away")
        #expect(NTLMChallenge(changed(whole, 12, [0xff, 0xff])) == nil, "a name longer than the message")
        #expect(NTLMChallenge(changed(whole, 12, [1])) == nil, "half a letter")
        #expect(NTLMChallenge(changed(whole, 44, UInt32(49).littleEndianBytes)) == nil, "fields in each other")
        let pairs = NTLMMessage.descriptor(10, at: 50)
        #expect(NTLMChallenge(changed(whole, 12, pairs)) == nil, "a name that is the pairs")
        #expect(NTLMChallenge(changed(whole, 44, UInt32(40).littleEndianBytes)) == nil, "pairs in the head")
    }

    @Test func pairsThatAreNoneAreRefused() {
        #expect(NTLMChallenge(challenge([(7, [1])])) == nil, "a time of another length")
        #expect(NTLMChallenge(challenge([(6, [1])])) == nil, "flags of another length")
        #expect(NTLMChallenge(challenge([(1, []), (1, [])])) == nil, "one kind twice")
        #expect(TargetInfo([1, 0, 2, 0, 65, 0]) == nil, "no end")
        #expect(TargetInfo([0, 0, 1, 0, 65]) == nil, "an end with a value")
        #expect(TargetInfo([1, 0, 255, 255, 65, 0, 0, 0]) == nil, "a value beyond the end")
        #expect(TargetInfo([0, 0, 0, 0, 1, 2, 3]) == TargetInfo(), "what stands behind the end")
        let many = (0..<TargetInfo.limit).map { ($0 + 100, [UInt8]()) }
        #expect(NTLMChallenge(challenge(many)) != nil)
        #expect(NTLMChallenge(challenge(many + [(99, [])])) == nil, "one pair more than are read")
    }

    @Test func aMessageOneByteLongerThanTheLimitIsRefused() {
        let space = NTLMChallenge.longest - challenge([(1, [])]).count
        #expect(NTLMChallenge(challenge([(1, [UInt8](repeating: 0, count: space))])) != nil)
        #expect(NTLMChallenge(challenge([(1, [UInt8](repeating: 0, count: space + 1))])) == nil)
        let token = String(repeating: "A", count: (NTLMChallenge.longest + 2) / 3 * 4)
        #expect(NTLMToken.bytes(token) != nil)
        #expect(NTLMToken.bytes(token + "AAAA") == nil)
        for bad in ["a", "a===", "TlRM!", "TlRM TlRM"] { #expect(NTLMToken.bytes(bad) == nil) }
    }

    // MARK: The last message

    /// The parts of a last message that a server verifies.
    private struct Proof {
        let message: [UInt8]
        let lm: [UInt8]
        let nt: [UInt8]
        let domain: [UInt8]
        let user: [UInt8]
        let pairs: TargetInfo

        init(_ message: [UInt8]) throws {
            self.message = message
            func field(_ position: Int) throws -> [UInt8] {
                Array(message[try #require(NTLMMessage.field(message, at: position, behind: 64))])
            }
            (lm, nt, domain, user) = (try field(12), try field(20), try field(28), try field(36))
            pairs = try #require(TargetInfo(Array(nt.dropFirst(16 + 28))))
        }
    }

    private func answer(
        _ challenge: [UInt8], _ binding: ChannelBinding? = nil, time: UInt64 = 5
    ) throws -> Proof {
        let exchange = try NTLMExchange(Self.credential, to: "server.example")
        let nonce = [UInt8](repeating: 9, count: 8)
        let message = exchange.authenticate(answering: challenge, binding: binding, nonce: nonce, time: time)
        return try Proof(try #require(message))
    }

    @Test func theProofCoversTheServersPairsAndOurs() throws {
        let binding = ChannelBinding(certificateHash: [UInt8](repeating: 7, count: 32))
        let challenge = challenge([(2, [66, 0]), (6, [1, 0, 0, 0]), (9, [1, 2]), (10, [3])])
        let proof = try answer(challenge, binding)
        #expect(proof.domain == NTLMText.bytes("CORP") && proof.user == NTLMText.bytes("jürgen"))
        #expect(proof.pairs[2] == [66, 0])
        #expect(proof.pairs[6] == [3, 0, 0, 0], "the server's flags, and that there is a code")
        #expect(proof.pairs[9] == NTLMText.bytes("HTTP/server.example"), "and no name that the server chose")
        #expect(proof.pairs[10] == Array(Insecure.MD5.hash(data: binding.structure)))
        let key = NTLMHash.v2(password: "pässwörd €", user: "JÜRGEN", domain: "CORP")
        #expect(Array(proof.nt.prefix(16)) == NTLMHash.code(Self.nonce + proof.nt.dropFirst(16), key))
    }

    @Test func withoutTLSTheBindingIsEmpty() throws {
        #expect(try answer(challenge()).pairs[10] == [UInt8](repeating: 0, count: 16))
    }

    @Test func theServersTimeCountsBeforeOurs() throws {
        let with = try answer(challenge([(7, Self.nonce)]))
        #expect(Array(with.nt[24..<32]) == Self.nonce && with.lm == [UInt8](repeating: 0, count: 24))
        let without = try answer(challenge())
        #expect(Array(without.nt[24..<32]) == UInt64(5).littleEndianBytes && without.lm.contains { $0 != 0 })
    }

    @Test func theCodeCoversAllThreeMessages() throws {
        let challenge = challenge()
        let proof = try answer(challenge)
        let key = NTLMHash.v2(password: "pässwörd €", user: "jürgen", domain: "CORP")
        let sessionKey = NTLMHash.code(Array(proof.nt.prefix(16)), key)
        let bare = changed(proof.message, 72, [UInt8](repeating: 0, count: 16))
        let code = NTLMHash.code(NTLMExchange.negotiate + challenge + bare, sessionKey)
        #expect(Array(proof.message[72..<88]) == code)
    }

    @Test func noKeyIsExchangedWhateverTheServerWants() throws {
        let proof = try answer(challenge(flags: 0xffff_ffff & ~2))
        let flags = NTLMFlags(rawValue: LittleEndian.word(proof.message, at: 60))
        #expect(flags == NTLMFlags.offered.union(.targetInfo))
    }

    @Test func aNameThatCannotBeSaidIsRefused() {
        for user in ["", "A\\", "a\u{1}"] {
            let error = #expect(throws: LoadError.self) {
                _ = try NTLMExchange(Credential(user: user, password: Redacted("p")), to: "h")
            }
            #expect(error?.code == .invalidRequest)
        }
    }
}
