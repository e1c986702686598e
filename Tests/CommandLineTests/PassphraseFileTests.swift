import Foundation
import SallyportSecureStore
import TestSupport
import Testing

@testable import SallyportCommandLine

/// A passphrase opens a store as a key does, so its file must have the same owner and mode.
@Suite struct PassphraseFileTests {
    private let folder: TemporaryDirectory
    private var path: String { folder.file("passphrase") }

    init() throws {
        folder = try TemporaryDirectory()
        try folder.write("correct horse\n", to: "passphrase")
        chmod(path, 0o600)
    }

    private var refusal: String? {
        do throws(CommandFailure) {
            _ = try Protection.passphraseFile(path).protector()
            return nil
        } catch { return error.name }
    }

    @Test(arguments: [0o600, 0o400] as [mode_t]) func oneThatOnlyItsOwnerReachesIsTaken(_ mode: mode_t) {
        chmod(path, mode)
        #expect(refusal == nil)
    }

    @Test(arguments: [0o666, 0o640, 0o604, 0o620] as [mode_t]) func oneThatOthersReachIsRefused(_ mode: mode_t) {
        chmod(path, mode)
        #expect(refusal == "unsafePermissions")
    }

    @Test(.enabled(if: geteuid() == 0, "Only root can give files away."))
    func oneThatBelongsToAnotherUserIsRefused() {
        chown(path, 65_534, gid_t.max)
        #expect(refusal == "unsafePermissions")
    }

    @Test(arguments: ["\n", "\r\n"]) func itsFirstLineIsThePassphrase(_ lineEnd: String) async throws {
        let store = folder.file("store")
        try await SecureStore.open(at: store, protectedBy: .passphrase("correct horse")).close()
        try Data("correct horse\(lineEnd)second line\(lineEnd)".utf8).write(to: URL(filePath: path))
        chmod(path, 0o600)
        let protector = try Protection.passphraseFile(path).protector()
        try await SecureStore.open(at: store, protectedBy: protector, options: .readOnly).close()
    }

    @Test func anEmptyLineIsNoPassphraseWhateverEndsIt() throws {
        try Data("\r\nsecond line\r\n".utf8).write(to: URL(filePath: path))
        chmod(path, 0o600)
        #expect(refusal == "invalid")
    }

    @Test func itsContentIsChecked() throws {
        let contents: [(content: Data, refusal: String)] = [
            (Data("\nsecond line".utf8), "invalid"), (Data([0xff, 0xfe]), "invalid"),
            (Data(repeating: 0x61, count: 4_097), "tooLarge"),
        ]
        for (content, expected) in contents {
            try content.write(to: URL(filePath: path))
            // A file that is written again gets the mode of new files.
            chmod(path, 0o600)
            #expect(refusal == expected)
        }
        try FileManager.default.removeItem(atPath: path)
        #expect(refusal == "notFound")
    }
}
