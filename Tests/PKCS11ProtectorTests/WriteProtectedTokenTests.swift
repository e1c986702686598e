import FoundationEssentials
import SallyportBase
import SallyportCore
import SallyportPKCS11Identity
import SallyportPKCS11Protector
import TestSupport
import Testing

/// A token that is write-protected refuses sessions that may write, which only the creation of a secret needs. The
/// flags of sessions are seen by OpenSC's spy before SoftHSM, which has no write protection.
@Suite(.serialized) struct WriteProtectedTokenTests {
    private static let reading = "0x4"
    private static let writing = "0x6"

    init() throws {
        try #require(Tokens.shared.isReady, "softhsm2 is missing: make dependencies")
    }

    /// The flags of the sessions that `body` opens.
    private func sessions(_ body: () throws -> Void) throws -> [String] {
        let before = try allFlags().count
        try body()
        return try Array(allFlags()[before...])
    }

    private func allFlags() throws -> [String] {
        guard FileManager.default.fileExists(atPath: Tokens.shared.calls) else { return [] }
        let text = try String(decoding: Data(contentsOf: URL(filePath: Tokens.shared.calls)), as: UTF8.self)
        let lines = text.split(separator: "\n")
        return lines.indices.filter { lines[$0].hasSuffix(": C_OpenSession") }.compactMap { start in
            lines[start...].first { $0.hasPrefix("[in] flags = ") }?.split(separator: " ").last.map { String($0) }
        }
    }

    @Test func anIdentityOnlyReads() throws {
        let opened = try sessions {
            #expect(throws: LoadError.self) {
                try PKCS11Identity(
                    module: Tokens.spiedModule, token: "three", label: "none", pin: Redacted("1234"))
            }
        }
        #expect(opened == [Self.reading])
    }

    @Test func aProtectorWritesOnlyToCreateItsSecret() throws {
        let protector = PKCS11Protector(module: Tokens.spiedModule, token: "two", keyLabel: "spied", pin: "1234")
        var parameters: [UInt8] = []
        let first = try sessions { parameters = try protector.makeWrappingKey().parameters }
        #expect(first == [Self.reading, Self.writing])
        let later = try sessions { _ = try protector.wrappingKey(parameters: parameters) }
        #expect(later == [Self.reading])
        let again = try sessions { _ = try protector.makeWrappingKey() }
        #expect(again == [Self.reading])
    }
}
