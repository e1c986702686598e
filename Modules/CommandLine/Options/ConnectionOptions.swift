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
        guard let cert else { return nil }
        let workplace = Workplace.current
        let keyFile = try key.map { try workplace.path($0) }
        return try ClientIdentity.pem(
            certificates: workplace.path(cert), key: keyFile, awaiting: workplace.hasInput)
    }
}
