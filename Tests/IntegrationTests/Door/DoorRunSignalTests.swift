import Foundation
import TestSupport
import Testing

/// Which signals `sallyport run` passes to a program in a terminal: what the terminal's keys send comes to its foreground
/// group by itself, what another process sends comes to `sallyport` alone.
@Suite(.timeLimit(.minutes(2))) struct DoorRunSignalTests {
    private let fixture: DoorFixture
    private let keyboard: String

    init() async throws {
        fixture = try await DoorFixture.start()
        keyboard = fixture.site.folder.file("keyboard")
        try #require(mkfifo(keyboard, 0o600) == 0)
    }

    /// `script` makes a terminal, in which `sallyport` is the foreground group, and types what is written into the fifo.
    /// The program itself is in a group of its own (`setsid`), so that all it is told of was passed to it.
    ///
    /// - Parameter input: where `sallyport` reads from instead of the terminal.
    private func running(input: String = "") throws -> ChildProcess {
        let program = """
            trap "echo told" INT; trap "echo over; exit 9" TERM; echo ready $PPID; while :; do sleep 0.05; done
            """
        let command = """
            exec '\(Programs.built("sallyport"))' run --store '\(fixture.store)' -- setsid sh -c '\(program)' \(input)
            """
        let script = "exec script --quiet --return --flush --echo always --command \"$1\" /dev/null <> \"$2\""
        return try ChildProcess("/bin/bash", ["-c", script, "bash", command, keyboard])
    }

    /// The number of `sallyport`'s process, as its program tells it.
    private func process(of child: ChildProcess) async throws -> pid_t {
        #expect(try await eventually { child.output.contains(/ready \d+\s/) || !child.isRunning })
        let match = try #require(child.output.firstMatch(of: /ready (\d+)\s/), "\(child.output)\(child.error)")
        return try #require(pid_t(match.1))
    }

    @Test func aKeyOfTheTerminalIsNotPassedOn() async throws {
        let child = try running(input: "< /dev/null")
        let process = try await process(of: child)
        let typed = try FileHandle(forWritingTo: URL(fileURLWithPath: keyboard))
        try typed.write(contentsOf: Data([0x03]))
        // The terminal shows a key after it has sent the signal.
        #expect(try await eventually { child.output.contains("^C") })
        #expect(kill(process, SIGTERM) == 0)
        let outcome = try await child.outcome()
        #expect(outcome.status == 9 && outcome.output.hasSuffix("over\r\n"), "\(outcome.output)")
        #expect(!outcome.output.contains("told"), "\(outcome.output)")
    }

    @Test func aSignalOfAnotherProcessIsPassedOnInATerminal() async throws {
        let child = try running()
        let process = try await process(of: child)
        #expect(kill(process, SIGINT) == 0)
        #expect(try await eventually { child.output.contains("told") })
        #expect(kill(process, SIGTERM) == 0)
        #expect(try await child.outcome().status == 9)
    }
}
