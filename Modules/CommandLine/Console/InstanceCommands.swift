import ArgumentParser
import SallyportGateway

struct InstancesCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "instances", abstract: "List activated instances, and when the gateway last heard of each.")
    @OptionGroup var location: DataLocationOptions
    @OptionGroup var output: OutputOptions

    func request() -> AdministrationCommand { .listInstances }
}

/// INSTANCE --data DIR
struct InstanceArguments: ParsableArguments {
    @Argument(help: "The instance, as 'admin instances' lists it.") var instance: String
}

struct BlockCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "block", abstract: "Refuse an instance everything until it is unblocked; its data is kept.")
    @OptionGroup var target: InstanceArguments
    @OptionGroup var location: DataLocationOptions
    @OptionGroup var output: OutputOptions

    func request() -> AdministrationCommand { .withdraw(instance: target.instance, .block) }
    var acknowledgement: String { "blocked \(target.instance)" }
}

struct UnblockCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(commandName: "unblock", abstract: "End a block.")
    @OptionGroup var target: InstanceArguments
    @OptionGroup var location: DataLocationOptions
    @OptionGroup var output: OutputOptions

    func request() -> AdministrationCommand { .withdraw(instance: target.instance, .unblock) }
    var acknowledgement: String { "unblocked \(target.instance)" }
}

struct LockCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock", abstract: "Lock an instance and drop its keys from memory; its data is kept.",
        discussion: "'admin unlock' ends it, for whatever reason it was.")
    enum Reason: String, ExpressibleByArgument, CaseIterable { case idle, password }

    @OptionGroup var target: InstanceArguments
    @Option(
        help: ArgumentHelp(
            """
            Why, which the app is told: idle (-300, not used for too long), password (-304, its store's secret has to \
            be changed). Default: -303.
            """, valueName: "reason"))
    var reason: Reason?
    @OptionGroup var location: DataLocationOptions
    @OptionGroup var output: OutputOptions

    func request() -> AdministrationCommand {
        let lock: AdministrationCommand.Withdrawal =
            switch reason {
            case .idle: .lockIdle
            case .password: .lockForPasswordChange
            case nil: .lock
            }
        return .withdraw(instance: target.instance, lock)
    }
    var acknowledgement: String { "locked \(target.instance)" }
}

struct UnlockCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(commandName: "unlock", abstract: "End a lock.")
    @OptionGroup var target: InstanceArguments
    @OptionGroup var location: DataLocationOptions
    @OptionGroup var output: OutputOptions

    func request() -> AdministrationCommand { .withdraw(instance: target.instance, .unlock) }
    var acknowledgement: String { "unlocked \(target.instance)" }
}

struct WipeCommand: ConsoleCommand {
    static let configuration = CommandConfiguration(
        commandName: "wipe", abstract: "Destroy an instance's keys and data; it needs a new activation.",
        discussion: "Asks at the terminal first, naming the instance, its user and its app; --yes does not ask.")
    @OptionGroup var target: InstanceArguments
    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var location: DataLocationOptions
    @OptionGroup var output: OutputOptions

    func request() -> AdministrationCommand {
        .withdraw(instance: target.instance, .wipe, confirmed: confirmation.yes)
    }
    var acknowledgement: String { "wiped \(target.instance)" }
}
