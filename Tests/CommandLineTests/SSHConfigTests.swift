import ArgumentParser
import Foundation
import Testing

@testable import SallyportCommandLine

/// The stanza for ssh names the program, the store and its key for a shell.
@Suite struct SSHConfigTests {
    private func command(_ options: String...) throws -> SSHConfigCommand {
        let words = ["ssh-config", "*.corp.example", "--store", "/srv/store"] + options
        let parsed = try SallyportProgram.parseAsRoot(words)
        return try #require(parsed as? SSHConfigCommand)
    }

    /// ssh may be started in any folder.
    @Test func theKeyIsThatOfTheCommand() throws {
        let start = "Host *.corp.example\n    ProxyCommand sallyport connect %h:%p --store /srv/store"
        let file = SSHConfigCommand.quoted("\(FileManager.default.currentDirectoryPath)/a b")
        let stanzas = [
            (try command(), ""),
            (try command("--key-file", "/etc/100%"), " --key-file /etc/100%%"),
            (try command("--key-file", "a b"), " --key-file \(file)"),
            (try command("--passphrase-file", "a b"), " --passphrase-file \(file)"),
            (try command("--systemd-credential", "store"), " --systemd-credential store"),
        ]
        for (command, end) in stanzas { #expect(command.stanza(program: "sallyport") == start + end) }
    }

    @Test(arguments: [("--passphrase-file", "-"), ("--passphrase-file", "/dev/stdin"), ("--key-file", "/dev/fd/63")])
    func aStreamOfThisProcessIsNoKeyForSSH(option: String, file: String) {
        #expect(throws: (any Error).self) { try command(option, file) }
    }

    @Test(arguments: [
        ("/srv/store", "/srv/store"), ("/srv/100%", "/srv/100%%"), ("/srv/a b", "'/srv/a b'"),
        ("/srv/a'b", "'/srv/a'\\''b'"),
        // To Swift, each of these marks is one character with what stands before it.
        ("/srv/a'\u{301}b", "'/srv/a'\\''\u{301}b'"), ("/srv/%\u{301}", "'/srv/%%\u{301}'"),
    ])
    func pathsAreQuotedForTheShell(path: String, quoted: String) {
        #expect(SSHConfigCommand.quoted(path).utf8.elementsEqual(quoted.utf8))
    }
}
