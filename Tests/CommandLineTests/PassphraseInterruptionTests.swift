import Glibc
import TestSupport
import Testing

@testable import SallyportCommandLine

/// A command that reads the passphrase of its store from standard input, which may be a terminal, and waits there.
@Suite(.timeLimit(.minutes(1))) struct PassphraseInterruptionTests {
    private let folder: TemporaryDirectory
    private let input: String

    init() throws {
        folder = try TemporaryDirectory()
        input = folder.file("input")
        try #require(mkfifo(input, 0o600) == 0)
    }

    private static let commands = [
        ["activate", "sallyport://a.example:1/?ca=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU&user=ann&key=a"],
        ["fetch", "https://a.example/"], ["connect", "a.example:1"], ["doctor"],
        ["admin", "audit", "export", "--out", "/dev/null/none"],
    ]

    private func isEmpty(_ pipe: Int32) -> Bool {
        var place = pollfd(fd: pipe, events: Int16(POLLIN), revents: 0)
        return poll(&place, 1, 0) == 0
    }

    @Test(arguments: commands, [SIGINT, SIGTERM])
    func aSignalEndsTheWait(_ command: [String], _ signal: Int32) async throws {
        // For both directions, so that the command finds no end.
        let pipe = open(input, O_RDWR | O_CLOEXEC)
        try #require(pipe >= 0)
        defer { close(pipe) }
        let place = command.first == "admin" ? "--data" : "--store"
        let options = ["--passphrase-file", "-", place, folder.file("none")]
        let child = try ChildProcess(
            "/bin/bash", ["-c", "exec \"$@\" < \"$0\"", input, Programs.built("sallyport")] + command + options)
        StandardStreams.write(Array("a passphrase".utf8), to: pipe)
        // What was written is read, and the rest of the line is waited for.
        let isReading = try await eventually { isEmpty(pipe) || !child.isRunning }
        #expect(isReading)
        child.signal(signal)
        #expect(try await child.outcome(within: .seconds(30)).status == signal)
    }
}
