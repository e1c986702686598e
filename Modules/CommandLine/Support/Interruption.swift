import Glibc
import UnixSignals

/// Runs a client's command so that SIGINT and SIGTERM cancel it: it ends as a cancelled task does, with files and
/// sockets closed and nothing half written.
///
/// `gateway run` does not use it: there the same signals mean to drain and stop.
func withInterruption(_ body: @escaping @Sendable () async throws -> Void) async throws {
    // The process that the command runs for takes its own signals, and its end cancels the task.
    guard !Workplace.current.isForAnother else { return try await body() }
    let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await body() }
        group.addTask {
            for await signal in signals { throw Interruption(number: signal == .sigint ? SIGINT : SIGTERM) }
        }
        do {
            try await group.next()
            group.cancelAll()
        } catch let interruption as Interruption {
            group.cancelAll()
            while await group.nextResult() != nil {}
            throw interruption
        }
    }
}

/// The program was asked to stop.
struct Interruption: Error, Sendable {
    let number: Int32

    var failure: CommandFailure {
        let signal = number == SIGINT ? "SIGINT" : "SIGTERM"
        return CommandFailure(ExitStatus(rawValue: 128 + number), name: "interrupted", "Ended by \(signal).")
    }
}
