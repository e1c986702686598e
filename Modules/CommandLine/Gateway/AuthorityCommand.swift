import ArgumentParser
import FoundationEssentials
import SallyportGateway

/// Shows and changes the gateway's authority and the signer of its configurations.
struct AuthorityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "authority", abstract: "Replace the gateway's authority, or revoke a leaked signer.",
        subcommands: [Status.self, Rotate.self, Revoke.self])

    struct Status: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "status", abstract: "Show the authorities, and the gateway's certificates issued by them.")
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .authority(.status) }
    }

    struct Rotate: ConsoleCommand, CheckedArguments {
        static let configuration = CommandConfiguration(
            commandName: "rotate", abstract: "Announce a new authority; with --finish, put it in force.",
            discussion: """
                Apps learn of it with their next configuration. It comes into force after 37 days, in which an \
                off-line app can still renew its certificate, or with --finish. Apps that do not know it then need a \
                new activation; --finish lists them and does nothing, unless --yes is given.
                """)
        @Flag(help: "Put the announced authority in force.") var finish = false
        @Flag(help: "Do it even where apps need a new activation then.") var yes = false
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func check() throws {
            guard finish || !yes else { throw ValidationError("--yes goes with --finish.") }
        }

        func request() -> AdministrationCommand { .authority(finish ? .finish(confirmed: yes) : .rotate) }
    }

    struct Revoke: ConsoleCommand {
        static let configuration = CommandConfiguration(
            commandName: "revoke", abstract: "Revoke the signer of configurations, whose key may have leaked.",
            discussion: """
                Creates a new signer and a new server certificate. An app that has received a configuration of the \
                new signer no longer trusts the old one: running apps within seconds, others at their next contact. \
                Former authorities are dropped too, so that apps with a certificate of theirs need a new activation: \
                if there are such authorities, nothing is done unless --yes is given.
                """)
        @Flag(help: "Do it even where apps need a new activation then.") var yes = false
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func request() -> AdministrationCommand { .authority(.revoke(confirmed: yes)) }
    }
}

extension AuthorityEntry {
    /// A line for each certificate.
    var text: String {
        var lines = ["authority: \(present.fingerprint), until \(Self.day(present.ends))"]
        if let next {
            lines.append("next: \(next.certificate.fingerprint), announced \(Self.day(next.announced))")
            lines.append("in force: \(Self.day(next.due)), or with 'gateway authority rotate --finish'")
            lines.append("have not heard of it: \(next.waiting)")
        }
        lines += former.map { "former: \($0.certificate.fingerprint), accepted until \(Self.day($0.until))" }
        lines.append("signer: generation \(signers), until \(Self.day(signer.ends))")
        lines.append("server: until \(Self.day(server.ends))")
        return lines.joined(separator: "\n")
    }

    private static func day(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
    }
}
