import Foundation
import SallyportBase
import SallyportCassette
import SallyportCore
import TestSupport
import Testing

/// Files that are no cassettes.
@Suite struct RecordingTests {
    private static func file(
        format: String = "sallyport-cassette", version: Int = 1, url: String = "http://h/", status: Int = 200,
        field: String = "X-A", value: String = "b", body: String = #"{"text": "body"}"#, count: Int = 1
    ) -> String {
        let exchange = """
            {"request": {"method": "GET", "url": "\(url)", "fields": []},
             "response": {"status": \(status), "fields": [{"name": "\(field)", "value": "\(value)"}], "body": \(body)}}
            """
        let exchanges = Array(repeating: exchange, count: count).joined(separator: ",")
        return #"{"format": "\#(format)", "version": \#(version), "exchanges": [\#(exchanges)]}"#
    }

    private func code(_ text: String, _ settings: CassetteSettings = CassetteSettings()) -> CassetteError.Code? {
        do throws(CassetteError) {
            _ = try Recording(file: Array(text.utf8), settings: settings)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func aFileIsRead() { #expect(code(Self.file()) == nil) }

    @Test(arguments: [
        "", "{}", "[]", "\u{0}", file(format: "another"), file(url: "nowhere"), file(url: "http://user:pass@h/"),
        file(status: 99), file(status: 1000), file(field: "X A"), file(value: "a\\r\\nX-Injected: b"), file(body: "{}"),
        file(body: #"{"base64": "!"}"#), file(body: "1"), String(file().dropLast(3)),
        String(repeating: "[", count: 100_000),
    ])
    func otherFilesAreMalformed(text: String) { #expect(code(text) == .malformed) }

    @Test func aLaterVersionIsNotGuessed() {
        #expect(code(Self.file(version: 2)) == .unsupportedVersion)
        #expect(code(Self.file(version: 0)) == .unsupportedVersion)
    }

    @Test func limitsHold() {
        let text = Self.file(count: 2)
        var settings = CassetteSettings()
        settings.exchangeLimit = 2
        settings.bodyLimit = .bytes(4)
        settings.fileLimit = .bytes(text.utf8.count)
        #expect(code(text, settings) == nil)
        settings.fileLimit = .bytes(text.utf8.count - 1)
        #expect(code(text, settings) == .tooLarge)
        settings.fileLimit = .mebibytes(1)
        settings.bodyLimit = .bytes(3)
        #expect(code(text, settings) == .tooLarge)
        settings.bodyLimit = .bytes(4)
        settings.exchangeLimit = 1
        #expect(code(text, settings) == .tooManyExchanges)
    }

    /// Seeded, so that what fails fails again.
    @Test func brokenFilesEndInAnErrorOrAreRead() {
        var state: UInt64 = 0x5a11_1090
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(truncatingIfNeeded: state >> 33) % bound
        }
        let whole = Array(Self.file(count: 2).utf8)
        var read = 0
        for _ in 0..<10_000 {
            var bytes = whole
            for _ in 0...next(4) { bytes[next(bytes.count)] = UInt8(next(256)) }
            if next(4) == 0 { bytes.removeLast(next(bytes.count)) }
            if (try? Recording(file: bytes)) != nil { read += 1 }
        }
        #expect(read > 0 && read < 10_000)
    }
}
