import SallyportCore
import Testing

@testable import SallyportSocketDiagnosis

/// What the kernel sends, and what another process could.
struct SocketAnswerTests {
    private static let ends = SocketEnds(
        local: SocketEnd(.v4(0x7f00_0001), port: 3129), remote: SocketEnd(.v4(0x0a00_0002), port: 40_000))

    /// A number of this machine.
    private func number(_ value: UInt32, _ length: Int = 4) -> [UInt8] {
        withUnsafeBytes(of: value.littleEndian) { Array($0.prefix(length)) }
    }

    private func message(_ type: UInt32, _ body: [UInt8], sequence: UInt32 = 7) -> [UInt8] {
        number(UInt32(16 + body.count)) + number(type, 2) + number(0, 2) + number(sequence) + number(0) + body
    }

    private func connection(_ ends: SocketEnds = Self.ends) throws -> (TCPConnection, [UInt8]) {
        let found = try #require(TCPConnection(searching: ends))
        return (found, [found.family, 1, 0, 0] + found.identifier + [UInt8](repeating: 0, count: 20))
    }

    @Test func aConnectionIsReadFromItsMessage() throws {
        let (found, body) = try connection()
        #expect(SocketAnswer.answers(in: message(20, body), to: 7) == [.connection(found)])
        #expect(found.ends == Self.ends)
    }

    @Test func answersToOtherQuestionsAreLeftOut() throws {
        let (found, body) = try connection()
        let bytes = message(20, body, sequence: 6) + message(20, body) + message(3, number(0))
        #expect(SocketAnswer.answers(in: bytes, to: 7) == [.connection(found), .done])
    }

    @Test func failuresAreNumbersOfTheSystem() {
        #expect(SocketAnswer.answers(in: message(2, number(0)), to: 7) == [.failure(0)])
        #expect(SocketAnswer.answers(in: message(2, number(UInt32(bitPattern: -2))), to: 7) == [.failure(2)])
        #expect(SocketAnswer.answers(in: message(3, number(UInt32(bitPattern: -1))), to: 7) == [.failure(1)])
    }

    @Test func whatIsInconsistentIsNotRead() throws {
        let (_, body) = try connection()
        let whole = message(20, body)
        for length in 1..<whole.count { #expect(SocketAnswer.answers(in: Array(whole.prefix(length)), to: 7) == nil) }
        #expect(SocketAnswer.answers(in: message(20, Array(body.dropLast())), to: 7) == nil)
        #expect(SocketAnswer.answers(in: message(2, [0, 0]), to: 7) == nil)
        #expect(SocketAnswer.answers(in: message(4, []), to: 7) == nil)
        #expect(SocketAnswer.answers(in: number(15) + whole.dropFirst(4), to: 7) == nil)
        #expect(SocketAnswer.answers(in: [], to: 7) == [])
        let long = [UInt8](repeating: 0, count: SocketAnswer.maximumLength + 1)
        #expect(SocketAnswer.answers(in: long, to: 7) == nil)
    }

    @Test func aSocketOfAnotherFamilyIsNoConnection() throws {
        let (_, body) = try connection()
        #expect(SocketAnswer.answers(in: message(20, [1] + body.dropFirst()), to: 7) == [.other])
    }

    @Test func aMappedAddressIsTheAddressThatItCarries() throws {
        let mapped = try #require(IPAddress("::ffff:10.0.0.2"))
        #expect(SocketEnd(mapped, port: 1) == SocketEnd(.v4(0x0a00_0002), port: 1))
        #expect(SocketEnd(.v6(high: 0, low: 1), port: 1).address == .v6(high: 0, low: 1))
    }

    @Test func endsOfTwoFamiliesAreNoConnection() {
        let ends = SocketEnds(local: SocketEnd(.v4(1), port: 1), remote: SocketEnd(.v6(high: 1, low: 1), port: 1))
        #expect(TCPConnection(searching: ends) == nil)
    }
}
