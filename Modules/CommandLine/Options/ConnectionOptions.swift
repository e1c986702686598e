import ArgumentParser
import SallyportConnecting
import SallyportCore
import SallyportURLLoading

/// The authorities that a session trusts, and its client certificate.
struct ConnectionOptions: CheckedArguments {
    @Option(help: ArgumentHelp("Certificates of authorities to trust besides the system's, PEM.", valueName: "file"))
    var ca: String?
    @Option(
        help: ArgumentHelp(
            "A client certificate, PEM, for those servers of the command that request one.", valueName: "file"))
    var cert: String?
    @Option(help: ArgumentHelp("The private key of --cert, if it is not in the same file.", valueName: "file"))
    var key: String?
    @Option(
        help: ArgumentHelp(
            "Settings, JSON, as {\"ControlTLSVersions\": \"TLS1.1\"}; the environment takes precedence.",
            valueName: "file"))
    var config: String?

    func check() throws {
        if key != nil, cert == nil { throw ValidationError("--key goes with --cert.") }
    }

    /// - Parameter urls: the hosts to which the certificate is presented.
    func session(for urls: [RequestURL]) throws -> SessionConfiguration {
        var configuration = SessionConfiguration()
        if let ca { configuration.trust = try .systemAnd(given: ca) }
        guard let identity = try identity() else { return configuration }
        for host in Set(urls.compactMap(\.endpoint?.host)) {
            try configuration.present(identity, to: host.description)
        }
        return configuration
    }

    /// The certificate for servers that request one; nil for none.
    func identity() throws -> ClientIdentity? {
        try cert.map {
            try ClientIdentity.pem(
                certificates: Workplace.current.path($0), key: key.map(Workplace.current.path), mayBePipes: true)
        }
    }
}
