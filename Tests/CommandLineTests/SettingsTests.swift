import ArgumentParser
import Configuration
import HTTPTypes
import SallyportConnecting
import SallyportCore
import SallyportURLLoading
import TestSupport
import Testing

@testable import SallyportCommandLine

/// Settings of the program: the environment, then a JSON file.
struct SettingsTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func reader(_ text: String) throws -> ConfigReader {
        try folder.write(text, to: "settings.json")
        return try Settings.reader(file: folder.file("settings.json"))
    }

    @Test(arguments: [
        #"{"ControlTLSVersions": "TLS1.1"}"#, #"{"GDControlTLSVersions": ["GDEnableTLS1.1", "GDEnableTLS1.2"]}"#,
        #"{"ControlTLSVersions": ["TLS1.1"], "retries": 3, "net": {"fast": true, "share": 0.5}}"#,
    ])
    func aFileHasVersionsAsTextOrArray(_ text: String) throws {
        #expect(try ControlTLSVersions(reading: reader(text)) != ControlTLSVersions())
    }

    @Test func objectsNest() throws {
        let reader = try reader(#"{"net": {"fast": true, "share": 0.5, "name": "a"}, "retries": 3}"#)
        #expect(reader.bool(forKey: "net.fast") == true && reader.double(forKey: "net.share") == 0.5)
        #expect(reader.string(forKey: "net.name") == "a" && reader.int(forKey: "retries") == 3)
    }

    @Test(arguments: ["", "[]", "{", #"{"a": null}"#, #"{"a": [1, {}]}"#])
    func anythingElseIsAnErrorOfUsage(_ text: String) {
        #expect { try reader(text) } throws: { ($0 as? CommandFailure)?.status == .usage }
    }

    @Test func anAbsentFileIsAnError() {
        #expect(throws: (any Error).self) { try Settings.reader(file: folder.file("absent")) }
    }

    @Test func aKeyGoesWithACertificate() {
        #expect(throws: (any Error).self) { try FetchCommand.parse(["https://a.example", "--key", "k"]) }
    }
}
