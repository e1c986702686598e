import ArgumentParser
import Glibc

/// What the program `sallyport` does. Its entry point is in a target of its own, `SallyportMain`.
package enum Program {
    /// Carries out what this process was started for, and ends it.
    package static func run() async -> Never {
        Glibc.exit(await SallyportProgram.run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }
}

/// The `sallyport` program.
struct SallyportProgram: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sallyport",
        abstract: "Reach servers behind the firewall: activate an app, fetch through the gateway, and run the gateway.",
        discussion: """
            An administrator prepares a gateway (gateway, admin) and hands out an activation link; an app is activated \
            with it once (activate) and from then on reaches what the policy lists (fetch, explain, status).
            """,
        version: "sallyport \(Version.current)",
        subcommands: [
            ActivateCommand.self, StatusCommand.self, ExplainCommand.self, DoctorCommand.self, FetchCommand.self,
            ConnectCommand.self, ProxyCommand.self, RunCommand.self, SSHConfigCommand.self, GatewayCommand.self,
            AdminCommand.self, StoreCommand.self, CookiesCommand.self,
            CacheCommand.self, TokenCommand.self, InsideCommand.self,
        ] + kerberos)

    #if Kerberos
    private static let kerberos: [any ParsableCommand.Type] = [TicketsCommand.self]
    #else
    private static let kerberos: [any ParsableCommand.Type] = []
    #endif

    /// Runs the program with these arguments; reports a failure in one line.
    static func run(_ arguments: [String]) async -> ExitStatus {
        // If the reader is gone (`| head`), the write fails, but the program is not killed.
        signal(SIGPIPE, SIG_IGN)
        // The same for a file that would exceed the process's limit (`LimitFSIZE=`): the store reports that it is full.
        signal(SIGXFSZ, SIG_IGN)
        let status = await carryOut(arguments)
        await Workplace.current.finishWriting()
        guard status == .done, let number = Workplace.current.outputFailure else { return status }
        // A key that was issued, say, is nowhere else.
        let failure = CommandFailure(
            .inputOutput, name: "output", "What the command printed is lost: \(SystemText.of(number)).",
            hint: "all else that it does was done")
        StandardStreams.error(failure.text(asJSON: wantsJSON(arguments)))
        return failure.status
    }

    private static func wantsJSON(_ arguments: [String]) -> Bool { arguments.prefix { $0 != "--" }.contains("--json") }

    private static func carryOut(_ arguments: [String]) async -> ExitStatus {
        do {
            var command = try ArgumentChecks.parse(arguments, as: Self.self)
            guard command is any SharedAppCommand || !Workplace.current.isForAnother else {
                throw CommandFailure(
                    .usage, name: "notShared", "The process of a door carries out only what uses its app.")
            }
            if let status = try throughDoor(command, arguments) { return status }
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            return .done
        } catch {
            return report(error, arguments: arguments)
        }
    }

    /// Lets the process that has the command's store open for a door carry the command out; nil if there is none.
    private static func throughDoor(_ command: any ParsableCommand, _ arguments: [String]) throws -> ExitStatus? {
        guard let command = command as? any SharedAppCommand, !Workplace.current.isForAnother,
            let door = RunningDoor(store: command.location.store)
        else { return nil }
        return try door.run(arguments)
    }

    private static func report(_ error: any Error, arguments: [String]) -> ExitStatus {
        if let status = requestedText(error) { return status }
        // The status of a program that was run: it has said itself what failed.
        if let code = error as? ExitCode { return ExitStatus(rawValue: code.rawValue) }
        let failure = failure(of: error, arguments: arguments)
        let shown = SecretArguments.withoutLinks(arguments, in: failure)
        StandardStreams.error(shown.text(asJSON: wantsJSON(arguments)))
        return failure.status
    }

    /// Help and version come as errors too, and go to standard output.
    private static func requestedText(_ error: any Error) -> ExitStatus? {
        guard exitCode(for: error) == .success else { return nil }
        StandardStreams.output(fullMessage(for: error))
        return .done
    }

    static func failure(of error: any Error, arguments: [String]) -> CommandFailure {
        if let failure = CommandFailure(error) { return failure }
        guard exitCode(for: error) == .validationFailure else { return CommandFailure(unforeseen: error) }
        return usageFailure(error, arguments: arguments)
    }

    private static func usageFailure(_ error: any Error, arguments: [String]) -> CommandFailure {
        let command = CommandPath(arguments: arguments, root: Self.self)
        let message = SecretArguments.hidden(arguments, in: command.suggestion ?? message(for: error))
        let habit = message.contains("Unknown option") ? CurlHabits.hint(for: arguments) : nil
        let hint = habit ?? "see '\(command.name) --help'"
        return CommandFailure(.usage, name: "usage", message, hint: hint)
    }
}

/// The version of the program.
enum Version {
    static let current = "0.1.0"
}
