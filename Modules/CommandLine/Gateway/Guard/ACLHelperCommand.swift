import ArgumentParser
import SallyportGateway

/// Answers Squid by asking a guard.
struct ACLHelperCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "acl-helper", abstract: "Let Squid ask a guard at each CONNECT.",
        discussion: """
            Squid runs this itself, as its own user, and speaks its protocol for external ACL helpers with it: a line \
            on standard input for each question, a line on standard output for each answer. In squid.conf:

            external_acl_type sallyport ttl=0 negative_ttl=0 concurrency=64 %>a %>p %>la %>lp %DST %PORT %"USER_CERT \
            /usr/bin/sallyport gateway acl-helper --guard /run/sallyport/guard.sock

            Where the guard cannot be asked, nothing is allowed.
            """)
    @Option(
        name: .customLong("guard"), help: ArgumentHelp("The guard's Unix socket.", valueName: "socket"))
    var socket = "/run/sallyport/guard.sock"

    func run() async throws { try await ACLHelper(GuardClient(path: socket)).run() }
}
