import ArgumentParser
import SallyportGateway

/// The guard of a foreign relay.
struct GuardOptions: ParsableArguments, CheckedArguments {
    @Option(
        name: .customLong("guard"),
        help: ArgumentHelp(
            "Guard a foreign relay on this machine, which asks at this Unix socket.", valueName: "socket"))
    var socket: String?
    @Option(
        name: .customLong("allow-user"),
        help: ArgumentHelp("With --guard: a user who may ask, by name or number. Repeatable.", valueName: "user"),
        transform: expecting("A user of this machine, by name or number,"))
    var allowedUsers: [UserArgument] = []
    @Option(
        name: .customLong("guard-port"),
        help: ArgumentHelp("With --guard: the relay's port, at which tunnels are ended.", valueName: "port"))
    var port: UInt16?
    @Flag(name: .customLong("no-destroy"), help: "With --guard: judge new tunnels only, and leave open ones.")
    var leavesOpen = false

    func check() throws {
        guard socket != nil else {
            guard allowedUsers.isEmpty, port == nil, !leavesOpen else {
                throw ValidationError("--allow-user, --guard-port and --no-destroy go with --guard.")
            }
            return
        }
        guard (port != nil) != leavesOpen, port != 0 else {
            throw ValidationError("With --guard, give either --guard-port, from 1 to 65535, or --no-destroy.")
        }
    }

    /// Nil without a guard.
    var settings: Gateway.RelayGuardSettings? {
        socket.map { .init(path: $0, users: Set(allowedUsers.map(\.number)), port: port) }
    }
}
