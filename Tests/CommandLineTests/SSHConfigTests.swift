import Testing

@testable import SallyportCommandLine

/// The stanza for ssh names the program and the store for a shell.
@Suite struct SSHConfigTests {
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
