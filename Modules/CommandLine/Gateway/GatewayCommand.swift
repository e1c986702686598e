import ArgumentParser
import Logging
import SallyportCore
import SallyportGateway

/// The gateway's commands.
struct GatewayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gateway", abstract: "Create and run a gateway.",
        subcommands: [
            InitCommand.self, RunCommand.self, CertificateCommand.self, AuthorityCommand.self, InviteCommand.self,
            JoinCommand.self, FleetCommand.self, GuardCommand.self, ACLHelperCommand.self,
        ])

    struct InitCommand: AsyncParsableCommand, CheckedArguments {
        static let configuration = CommandConfiguration(
            commandName: "init", abstract: "Create a gateway's data: its authority, keys and an empty policy.")
        @OptionGroup var location: DataLocationOptions
        @Option(help: ArgumentHelp("The name at which apps reach it. Default: this machine's.", valueName: "host"))
        var name: String?
        @Option(
            help: .database(
                "Begin a fleet in this empty PostgreSQL database",
                discussion: "Every user of the machine can read a password in the arguments: better use ~/.pgpass."))
        var database: DatabaseArgument?
        @Option(
            help: .database(
                "The same database, as the role that makes the tables and owns them (that of --database by default)"))
        var databaseOwner: DatabaseArgument?
        @OptionGroup var output: OutputOptions

        func check() throws {
            guard databaseOwner == nil || database != nil else {
                throw ValidationError("--database-owner goes with --database.")
            }
            guard database?.isStandardInput != true || databaseOwner?.isStandardInput != true else {
                throw ValidationError("Standard input has one URL: --database or --database-owner.")
            }
        }

        func run() async throws {
            let made = try await GatewayHost(location).initialize(
                name: name, database: database?.url(), asOwner: databaseOwner?.url())
            let key = made.recoveryKey.map { "\nrecovery key, shown only now: \($0)" } ?? ""
            output.print(made, "made gateway \(made.name) in \(made.data)\(key)")
        }
    }

    struct RunCommand: AsyncParsableCommand, CheckedArguments {
        static let configuration = CommandConfiguration(
            commandName: "run", abstract: "Run a gateway until SIGTERM or SIGINT, which drain and stop it.",
            discussion: """
                Prints one line when it is ready, with the addresses that it listens on. \
                Connections that are still open 15 s after the signal are closed.
                """)
        @OptionGroup var location: DataLocationOptions
        @Option(
            help: """
                What it does: control (apps and administration), relay (tunnels, on a machine of its own), or both.
                """)
        var role = RoleArgument.both
        @Option(
            help: ArgumentHelp(
                "How long tunnels go on without word from a control gateway, or from the database, 30s to 1h.",
                valueName: "time"),
            transform: expecting("A whole number with s, m or h"))
        var relayLease = RelayLeaseArgument(seconds: 300)
        @Option(
            help: ArgumentHelp("The address to listen on for apps. Default: 0.0.0.0:17433.", valueName: "host:port"),
            transform: expecting("HOST:PORT"))
        var control: BindArgument?
        @Option(
            help: ArgumentHelp("The address to listen on for tunnels. Default: 0.0.0.0:17533.", valueName: "host:port"),
            transform: expecting("HOST:PORT"))
        var relay = BindArgument(host: "0.0.0.0", port: 17533)
        @Option(help: ArgumentHelp("The source address of connections to servers.", valueName: "address"))
        var egress: String?
        @Option(
            help: ArgumentHelp("The resolver of internal names. Default: the system's.", valueName: "address[:port]"))
        var dns: String?
        @Option(
            help: ArgumentHelp("For development: verify auth tokens here without TLS.", valueName: "host:port"),
            transform: expecting("HOST:PORT"))
        var verificationPlain: BindArgument?
        @Flag(help: "Let --verification-plain listen on addresses that other machines can reach.") var insecure = false
        @Option(help: "The most open tunnels of one instance.")
        var maxTunnels = 1024
        @Option(help: "The most open connections without a certificate from one address (for IPv6, one /64).")
        var maxPerSource = 64
        @Option(help: "The most open connections without a certificate from all addresses.")
        var maxUnauthenticated = 4096
        @OptionGroup var metrics: MetricsOptions
        @OptionGroup var guarding: GuardOptions
        @Option(
            help: ArgumentHelp(
                "Append the audit trail's entries to a file as lines of JSON; '-' for standard output.",
                valueName: "file"))
        var auditLog: String?
        @Option(
            help: ArgumentHelp(
                "Send the audit trail's entries to a syslog daemon's Unix socket, such as /dev/log.",
                valueName: "socket"))
        var auditSyslog: String?
        @OptionGroup var logging: LogOptions
        @OptionGroup var output: OutputOptions

        func check() throws {
            guard (1...65_536).contains(maxTunnels) else { throw ValidationError("--max-tunnels is 1 to 65536.") }
            guard (1...65_536).contains(maxPerSource) else { throw ValidationError("--max-per-source is 1 to 65536.") }
            guard (1...1_048_576).contains(maxUnauthenticated) else {
                throw ValidationError("--max-unauthenticated is 1 to 1048576.")
            }
            guard !insecure || verificationPlain != nil else {
                throw ValidationError("--insecure goes with --verification-plain.")
            }
            try relayLease.check()
            guard role != .relay || (verificationPlain == nil && guarding.socket == nil) else {
                throw ValidationError("--verification-plain and --guard go with --role control and both.")
            }
            guard role != .relay || (control == nil && auditLog == nil && auditSyslog == nil) else {
                throw ValidationError("--control, --audit-log and --audit-syslog go with --role control and both.")
            }
            if let egress, IPAddress(egress) == nil { throw ValidationError("--egress is an IP address.") }
            if let dns, !Self.isAddress(dns) { throw ValidationError("--dns is ADDRESS[:PORT], such as 10.0.0.2:53.") }
        }

        /// A resolver's name would have to be resolved itself.
        private static func isAddress(_ text: String) -> Bool {
            guard case .address = (try? Endpoint(text, defaultPort: 53))?.host else { return false }
            return true
        }

        func run() async throws {
            logging.bootstrap()
            let output = output
            try await GatewayHost(location).run(configuration(), logger: Logger(label: "sallyport.gateway")) { bound in
                let verification = bound.verification.map { ", verification without TLS \($0)" } ?? ""
                let metrics = bound.metrics.map { ", metrics \($0)" } ?? ""
                let guarding = bound.guard.map { ", guard \($0)" } ?? ""
                let listeners = [bound.control.map { "control \($0)" }, bound.relay.map { "relay \($0)" }]
                output.print(
                    bound,
                    "ready: \(listeners.compactMap { $0 }.joined(separator: ", "))\(verification)\(metrics)\(guarding)")
            }
        }

        private func configuration() throws -> Gateway.Configuration {
            var configuration = Gateway.Configuration()
            configuration.role = role.role
            configuration.relayLease = .seconds(relayLease.seconds)
            if let control {
                (configuration.controlHost, configuration.controlPort) = (control.host, Int(control.port))
            }
            configuration.relayHost = relay.host
            configuration.relayPort = Int(relay.port)
            configuration.egress = egress.flatMap { IPAddress($0) }
            configuration.resolver = try dns.map { try Endpoint($0, defaultPort: 53) }
            configuration.maximumTunnels = maxTunnels
            configuration.connections.perSource = maxPerSource
            configuration.connections.unauthenticated = maxUnauthenticated
            configuration.plainVerification = verificationPlain.map {
                .init(host: $0.host, port: Int($0.port), isInsecureAllowed: insecure)
            }
            configuration.auditLog = try auditLog.map { try $0 == "-" ? $0 : Workplace.current.path($0) }
            configuration.auditSyslog = try auditSyslog.map { try Workplace.current.path($0) }
            configuration.metrics = metrics.settings
            configuration.relayGuard = guarding.settings
            return configuration
        }
    }

    struct CertificateCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "certificate", abstract: "Issue a key and a certificate for a foreign relay.",
            discussion: "Writes HOST.key, HOST.pem and ca.pem, for Squid, Apache httpd or Envoy as a relay.")
        @Argument(help: "The relay's host name.") var host: String
        @Option(name: .short, help: ArgumentHelp("The output directory.", valueName: "dir")) var outputDirectory: String
        @OptionGroup var location: DataLocationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let files = try await GatewayHost(location).issueCertificate(for: host, in: outputDirectory)
            output.print(files, [files.key, files.certificate, files.authority].joined(separator: "\n"))
        }
    }
}

/// What a gateway does.
enum RoleArgument: String, ExpressibleByArgument, CaseIterable {
    case control, relay, both

    var role: Gateway.Role {
        switch self {
        case .control: .control
        case .relay: .relay
        case .both: .both
        }
    }
}

/// A whole number with `s`, `m` or `h`.
struct RelayLeaseArgument: ExpressibleByArgument, Sendable {
    let seconds: Int

    init(seconds: Int) { self.seconds = seconds }

    func check() throws {
        guard (30...3600).contains(seconds) else { throw ValidationError("--relay-lease is 30s to 1h.") }
    }

    init?(argument text: String) {
        let units = ["s": 1, "m": 60, "h": 3600]
        guard let unit = text.last.flatMap({ units[String($0)] }), let number = Int(text.dropLast()),
            (0...100_000).contains(number)
        else { return nil }
        seconds = number * unit
    }
}
