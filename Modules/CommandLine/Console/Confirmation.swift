import ArgumentParser
import SallyportGateway

/// Confirms in advance that instances are wiped.
struct ConfirmationOptions: ParsableArguments {
    @Flag(help: "Wipe instances without asking at the terminal.")
    var yes = false
}

/// The administrator's answer to the question whether instances may be wiped.
enum Confirmation {
    /// The longest answer that is read, in bytes.
    private static let limit = 256

    /// Asks at the terminal, and returns if the answer is yes.
    ///
    /// Standard input and standard error must both be the terminal: a script whose input is a file or a pipe is never
    /// held up, and cannot confirm by accident what it has not read.
    ///
    /// - Throws: ``CommandFailure`` if the answer is another, and if there is no terminal.
    static func obtain(toWipe instances: [AdministrationReply.InstanceEntry]) throws(CommandFailure) {
        guard StandardStreams.inputIsTerminal, StandardStreams.errorIsTerminal else {
            throw missing(toWipe: instances)
        }
        let question = "\(OneLine.of(what(instances))). Their keys and data are destroyed for good. Go on? [y/N] "
        StandardStreams.write(Array(question.utf8), to: Workplace.current.error)
        let answer = String(decoding: StandardStreams.read(upTo: limit), as: UTF8.self)
        guard ["y", "yes"].contains(OneLine.of(answer).lowercased()) else {
            throw CommandFailure(.usage, name: "notConfirmed", "Not confirmed: nothing was done.")
        }
    }

    static func missing(toWipe instances: [AdministrationReply.InstanceEntry]) -> CommandFailure {
        CommandFailure(
            .usage, name: "needsConfirmation",
            "\(what(instances)). Nothing was done: there is no terminal to ask at, and --yes is missing.")
    }

    private static func what(_ instances: [AdministrationReply.InstanceEntry]) -> String {
        "This would wipe \(AdministrationReply.InstanceEntry.names(of: instances))"
    }
}
