import ArgumentParser
import Sallyport
import SallyportCore
import SallyportSocket

/// Connects standard input and output to a server by a byte stream.
struct ConnectCommand: SharedAppCommand, CheckedArguments {
    static let configuration = CommandConfiguration(
        commandName: "connect", abstract: "Connect standard input and output to a server, as the policy says.",
        discussion: """
            A filter, as in ssh -o ProxyCommand='sallyport connect %h:%p --store DIR'. The end of standard input ends \
            our side and leaves the server's open; the program ends when the server has ended its side too.
            """)
    @Argument(help: ArgumentHelp("The server.", valueName: "host:port")) var address: String
    @OptionGroup var location: StoreLocationOptions
    @Flag(help: "Use TLS with the server.") var tls = false
    @Option(
        help: ArgumentHelp("With --tls: a protocol to offer by ALPN. Repeatable, preferred first.", valueName: "name"))
    var alpn: [String] = []
    @OptionGroup var connection: ConnectionOptions
    @Option(
        name: .customLong("connect-timeout"), help: "Time limit for connecting, in seconds. Default: 10.",
        transform: expecting(SecondsArgument.expected))
    var connectTimeout: SecondsArgument?
    @Option(
        name: .customLong("idle-timeout"), help: "Time limit without any byte, in seconds. Default: no limit.",
        transform: expecting(SecondsArgument.expected))
    var idleTimeout: SecondsArgument?
    @OptionGroup var output: OutputOptions

    func check() throws {
        if !tls, !alpn.isEmpty || connection.cert != nil || connection.ca != nil {
            throw ValidationError("--alpn, --ca and --cert go with --tls.")
        }
        _ = try endpoint()
    }

    private func endpoint() throws -> Endpoint {
        do {
            return try Endpoint(address)
        } catch {
            throw ValidationError("The server is not valid: \(error.message)")
        }
    }

    func run() async throws {
        let command = self
        let endpoint = try endpoint()
        // Each file may be a FIFO, for whose writer all of these wait.
        let (configuration, settings, client) = try await BlockingCalls("sallyport.input").result {
            try (
                command.socketConfiguration(), Settings.reader(file: command.connection.config),
                Client(command.location)
            )
        }
        try await withInterruption {
            try await client.withInstance(settings) { sallyport in
                // A connection may outlive the lease and the certificate, and a withdrawal must end it.
                async let _ = command.follow(sallyport)
                do {
                    let connection = try await sallyport.sockets.connect(
                        to: endpoint, isSecure: command.tls, configuration)
                    try await StreamFilter(connection).run()
                } catch let error as LoadError {
                    throw CommandFailure(error).about("\(endpoint)")
                }
            }
        }
    }

    /// Listens for withdrawals; the process that owns the door does so itself.
    private func follow(_ sallyport: Sallyport) async {
        if !Workplace.current.isForAnother { await sallyport.authorization.run() }
    }

    private func socketConfiguration() throws -> SocketConfiguration {
        var configuration = SocketConfiguration()
        if let ca = connection.ca { configuration.trust = try .systemAnd(given: ca) }
        configuration.clientIdentity = try connection.identity()
        configuration.applicationProtocols = alpn
        if let connectTimeout { configuration.connectTimeout = connectTimeout.duration }
        configuration.idleTimeout = idleTimeout?.duration
        return configuration
    }
}
