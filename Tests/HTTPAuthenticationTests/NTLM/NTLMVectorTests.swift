import SallyportBase
import SallyportCore
import SallyportLoading
import Testing

@testable import SallyportHTTPAuthentication

/// MS-NLMP §4.2: the worked examples, with its names for their parts. What signs and seals (§4.2.2.4, §4.2.3.4, §4.2.4.4)
/// has no place in HTTP and is not here.
struct NTLMVectorTests {
    private let serverChallenge = bytes("0123456789abcdef")
    private let clientChallenge = [UInt8](repeating: 0xaa, count: 8)
    private let randomSessionKey = [UInt8](repeating: 0x55, count: 16)
    private let targetInfo = bytes("02000c0044006f006d00610069006e0001000c0053006500720076006500720000000000")

    private let ntowfV1 = NTLMHash.v1(password: "Password")

    @Test func section4_2_2_v1() {
        #expect(hex(ntowfV1) == "a4f49c406510bdcab6824ee7c30fd852")
        let response = NTLMResponse.v1(ntowfV1, answering: serverChallenge)
        #expect(hex(response.nt) == "67c43011f30298a2ad35ece64f16331c44bdbed927841f94")
        // Without the LM hash, which is never sent (§3.3.1, NoLMResponseNTLMv1).
        #expect(response.lm == response.nt)
        let lmowfV1 = bytes("e52cac67419a9a224a3b108f3fa6cb6d")
        let lm = NTLMHash.desLong(lmowfV1, serverChallenge)
        #expect(hex(lm) == "98def7b87f88aa5dafe2df779688a172def11c7d5ccdef13")
        let sessionBaseKey = MD4.hash(ntowfV1)
        #expect(hex(sessionBaseKey) == "d87262b0cde4b1cb7499becccdf10784")
        let key = RC4.encrypt(randomSessionKey, with: sessionBaseKey)
        #expect(hex(key) == "518822b1b3f350c8958682ecbb3e3cb7")
        let message = authenticate(0xe280_8235, NTLMResponse(lm: lm, nt: response.nt), key)
        #expect(
            hex(message) == """
                4e544c4d5353500003000000180018006c00000018001800840000000c000c00480000000800080054000000100010005c00\
                0000100010009c000000358280e20501280a0000000f44006f006d00610069006e00550073006500720043004f004d005000\
                550054004500520098def7b87f88aa5dafe2df779688a172def11c7d5ccdef1367c43011f30298a2ad35ece64f16331c44bd\
                bed927841f94518822b1b3f350c8958682ecbb3e3cb7
                """)
    }

    @Test func section4_2_3_v1WithClientChallenge() {
        let response = NTLMResponse.session2(ntowfV1, answering: serverChallenge, nonce: clientChallenge)
        #expect(hex(response.lm) == "aaaaaaaaaaaaaaaa00000000000000000000000000000000")
        #expect(hex(response.nt) == "7537f803ae367128ca458204bde7caf81e97ed2683267232")
        let key = NTLMHash.code(serverChallenge + response.lm.prefix(8), MD4.hash(ntowfV1))
        #expect(hex(key) == "eb93429a8bd952f8b89c55b87f475edc")
        #expect(
            hex(authenticate(0x8208_8235, response, [])) == """
                4e544c4d5353500003000000180018006c00000018001800840000000c000c00480000000800080054000000100010005c00\
                0000000000009c000000358208820501280a0000000f44006f006d00610069006e00550073006500720043004f004d005000\
                5500540045005200aaaaaaaaaaaaaaaa000000000000000000000000000000007537f803ae367128ca458204bde7caf81e97\
                ed2683267232
                """)
    }

    @Test func section4_2_4_v2() throws {
        let key = NTLMHash.v2(password: "Password", user: "User", domain: "Domain")
        #expect(hex(key) == "0c868a403bfd7a93a3001ef22ef02e3f")
        #expect(NTLMHash.v2(password: "Password", user: "uSER", domain: "Domain") == key)
        #expect(NTLMHash.v2(password: "Password", user: "User", domain: "DOMAIN") != key)
        let response = NTLMResponse.v2(
            key, answering: serverChallenge, nonce: clientChallenge, time: 0, targetInfo: targetInfo,
            hasServerTime: false)
        #expect(hex(response.lm) == "86c35097ac9cec102554764a57cccc19aaaaaaaaaaaaaaaa")
        #expect(hex(response.nt.prefix(16)) == "68cd0ab851e51c96aabc927bebef6a1c")
        #expect(
            hex(response.nt.dropFirst(16)) == """
                01010000000000000000000000000000aaaaaaaaaaaaaaaa0000000002000c0044006f006d00610069006e0001000c005300\
                65007200760065007200\
                0000000000000000
                """)
        #expect(hex(try #require(response.key)) == "8de40ccadbc14a82f15cb0ad0de95ca3")
        let sessionKey = RC4.encrypt(randomSessionKey, with: try #require(response.key))
        #expect(hex(sessionKey) == "c5dad2544fc9799094ce1ce90bc9d03e")
        #expect(
            hex(authenticate(0xe288_8235, response, sessionKey)) == """
                4e544c4d5353500003000000180018006c00000054005400840000000c000c00480000000800080054000000100010005c00\
                000010001000d8000000358288e20501280a0000000f44006f006d00610069006e00550073006500720043004f004d005000\
                550054004500520086c35097ac9cec102554764a57cccc19aaaaaaaaaaaaaaaa68cd0ab851e51c96aabc927bebef6a1c0101\
                0000000000000000000000000000aaaaaaaaaaaaaaaa0000000002000c0044006f006d00610069006e0001000c0053006500\
                72007600650072000000000000000000c5dad2544fc9799094ce1ce90bc9d03e
                """)
    }

    // MARK: Challenges of the examples

    private static let challenge2 = bytes(
        "4e544c4d53535000020000000c000c0038000000338202e20123456789abcdef00000000000000000000000000000000"
            + "060070170000000f530065007200760065007200")
    private static let challenge3 = bytes(
        "4e544c4d53535000020000000c000c003800000033820a820123456789abcdef00000000000000000000000000000000"
            + "060070170000000f530065007200760065007200")
    private static let challenge4 = bytes(
        "4e544c4d53535000020000000c000c003800000033828ae20123456789abcdef0000000000000000240024004400000006007017"
            + "0000000f53006500720076006500720002000c0044006f006d00610069006e0001000c00530065007200760065007200"
            + "00000000")

    @Test func challengesAreRead() throws {
        for message in [Self.challenge2, Self.challenge3] {
            let challenge = try #require(NTLMChallenge(message))
            #expect(challenge.nonce == serverChallenge && challenge.targetInfo == nil)
        }
        let challenge = try #require(NTLMChallenge(Self.challenge4))
        #expect(challenge.flags.rawValue == 0xe28a_8233 && challenge.nonce == serverChallenge)
        #expect(challenge.targetInfo?.bytes == targetInfo)
        #expect(challenge.targetInfo?[2] == NTLMText.bytes("Domain"))
        #expect(challenge.targetInfo?[1] == NTLMText.bytes("Server"))
    }

    /// What would be v1 is answered so only where it is allowed.
    @Test func oldChallengesAreAnsweredAsIsAllowed() throws {
        let credential = Credential(user: "Domain\\User", password: Redacted("Password"))
        let all = try NTLMExchange(credential, to: "server", .all)
        let v2 = try NTLMExchange(credential, to: "server")
        func proof(_ exchange: NTLMExchange, _ challenge: [UInt8]) throws -> [UInt8] {
            let message = try #require(
                exchange.authenticate(answering: challenge, binding: nil, nonce: clientChallenge, time: 0))
            let range = try #require(NTLMMessage.field(message, at: 20, behind: 64))
            return Array(message[range])
        }
        #expect(hex(try proof(all, Self.challenge2)) == "67c43011f30298a2ad35ece64f16331c44bdbed927841f94")
        #expect(hex(try proof(all, Self.challenge3)) == "7537f803ae367128ca458204bde7caf81e97ed2683267232")
        for challenge in [Self.challenge2, Self.challenge3, Self.challenge4] {
            #expect(try proof(v2, challenge).count > 24)
        }
        #expect(try proof(all, Self.challenge4).count > 24)
    }

    private func authenticate(_ flags: UInt32, _ response: NTLMResponse, _ key: [UInt8]) -> [UInt8] {
        NTLMAuthenticate(
            flags: NTLMFlags(rawValue: flags), domain: NTLMText.bytes("Domain"), user: NTLMText.bytes("User"),
            workstation: NTLMText.bytes("COMPUTER"), response: response, sessionKey: key,
            version: bytes("0501280a0000000f"), hasIntegrityCode: false
        ).bytes
    }
}

/// What exchanges keys in the examples; no key is exchanged here.
private enum RC4 {
    static func encrypt(_ bytes: [UInt8], with key: [UInt8]) -> [UInt8] {
        var state = (0..<256).map { UInt8($0) }
        var other = 0
        for index in 0..<256 {
            other = (other + Int(state[index]) + Int(key[index % key.count])) & 255
            state.swapAt(index, other)
        }
        var index = 0
        other = 0
        return bytes.map { byte in
            index = (index + 1) & 255
            other = (other + Int(state[index])) & 255
            state.swapAt(index, other)
            return byte ^ state[(Int(state[index]) + Int(state[other])) & 255]
        }
    }
}
