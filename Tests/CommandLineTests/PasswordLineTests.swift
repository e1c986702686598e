import TestSupport
import Testing

@testable import SallyportCommandLine

/// A password that is typed.
struct PasswordLineTests {
    private func end(_ keys: [UInt8]) -> PasswordLine.End? {
        var line = PasswordLine()
        for (position, key) in keys.enumerated() {
            guard let end = line.take(key) else { continue }
            #expect(position == keys.count - 1, "keys after the end")
            return end
        }
        return nil
    }

    @Test(arguments: [
        ("secret\n", "secret"), ("secret\r", "secret"), ("\n", ""), ("pässwörd €\n", "pässwörd €"),
        ("secreT\u{7f}t\n", "secret"), ("ab€\u{08}c\n", "abc"), ("\u{7f}\u{7f}a\n", "a"), ("no\u{15}yes\n", "yes"),
        ("a\u{04}b\n", "ab"),
    ])
    func aLineIsEntered(keys: String, password: String) {
        #expect(end(Array(keys.utf8)) == .entered(password))
    }

    @Test func anAbortedOrInvalidLineIsNotAPassword() {
        #expect(end([0x03]) == .interrupted)
        #expect(end(Array("secret".utf8) + [0x03]) == .interrupted)
        #expect(end([0x04]) == PasswordLine.End.none)
        #expect(end([0xff, 0x0a]) == PasswordLine.End.none)
        #expect(end(Array("secret".utf8)) == nil)
    }

    @Test func aLineIsNoLongerThanItsLimit() {
        let keys = [UInt8](repeating: 0x61, count: PasswordLine.limit + 1) + [0x0a]
        #expect(end(keys) == .entered(String(repeating: "a", count: PasswordLine.limit)))
    }

    /// Ctrl-C must not leave a terminal without echo.
    @Test(arguments: ["\\x03", "\\n"])
    func theTerminalIsLeftAsItWas(key: String) async throws {
        let folder = try TemporaryDirectory()
        let script = """
            import os, pty, sys, termios, time
            child, terminal = pty.fork()
            if child == 0:
                os.execv(sys.argv[1], [sys.argv[1], "fetch", "http://localhost:1/", "--user", "ann", "--store", sys.argv[2]])
            said = b""
            while b"Password of ann: " not in said: said += os.read(terminal, 1024)
            while termios.tcgetattr(terminal)[3] & termios.ECHO: time.sleep(0.01)
            os.write(terminal, b"hidden")
            os.write(terminal, b"\(key)")
            said = b""
            try:
                while True:
                    bytes = os.read(terminal, 1024)
                    if not bytes: break
                    said += bytes
                    shown = termios.tcgetattr(terminal)[3] & termios.ECHO
            except OSError: pass
            _, status = os.waitpid(child, 0)
            print(os.waitstatus_to_exitcode(status), bool(shown), b"hidden" in said)
            """
        let told = try await ChildProcess(
            "/usr/bin/env", ["python3", "-c", script, Programs.built("sallyport"), folder.file("none")]
        ).outcome()
        // 130 is SIGINT's; without it there is no store to open, which is 64.
        #expect(told.output == (key == "\\n" ? "64 True False\n" : "130 True False\n"), "\(told)")
    }
}
