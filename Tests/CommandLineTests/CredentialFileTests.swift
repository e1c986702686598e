import TestSupport
import Testing

@testable import SallyportCommandLine

@Suite struct CredentialFileTests {
    /// The value of the option may be the password itself, in the place of its file.
    @Test func whatIsNoPathOfAFileIsNotRepeated() throws {
        let folder = try TemporaryDirectory()
        let error = #expect(throws: CommandFailure.self) {
            try CredentialFile.credential(folder.file("none/secret"))
        }
        #expect(error?.message == "The file of --credential-file cannot be made: No such file or directory.")
    }
}
