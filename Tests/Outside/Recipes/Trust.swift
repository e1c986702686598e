import Sallyport

// recipe: private-authority
func sessionWithOwnAuthority(of sallyport: Sallyport) throws -> SecureSession {
    var configuration = SessionConfiguration()
    configuration.trust = try .systemAnd(pemFile: "/etc/report/corp-ca.pem")
    return sallyport.makeSession(configuration)
}
// end

// recipe: pin
func pinnedSession(of sallyport: Sallyport, to key: PublicKeyPin, or backup: PublicKeyPin) throws -> SecureSession {
    var configuration = SessionConfiguration()
    try configuration.pin("reports.corp.example", to: key, backups: [backup])
    return sallyport.makeSession(configuration)
}
// end

// recipe: client-certificate
func sessionWithCertificate(of sallyport: Sallyport) throws -> SecureSession {
    let identity = try ClientIdentity.pem(certificates: "/etc/report/client.pem", key: "/etc/report/client.key")
    var configuration = SessionConfiguration()
    try configuration.present(identity, to: "partner.example")
    return sallyport.makeSession(configuration)
}
// end

// recipe: password
struct Passwords: SessionDelegate {
    let password: Redacted<String>

    func session(
        _ session: SecureSession, loading request: LoadRequest, didReceive challenge: AuthenticationChallenge
    ) async -> ChallengeDisposition {
        guard challenge.previousFailureCount == 0 else { return .performDefaultHandling }
        return .use(Credential(user: "report", password: password))
    }
}

func sessionThatAnswers(of sallyport: Sallyport, with password: Redacted<String>) -> SecureSession {
    sallyport.makeSession(delegate: Passwords(password: password))
}
// end

// recipe: kerberos
func loadWithTicket(_ sallyport: Sallyport, password: Redacted<String>) async throws -> Int {
    var request = try LoadRequest.get("https://web.corp.example/report")
    request.options.credential = Credential(user: "ann@CORP.EXAMPLE", password: password)
    return try await sallyport.session.data(for: request).body.count
}

func useKeytab(_ sallyport: Sallyport) async throws {
    let user = try await sallyport.kerberos.useKeytab(at: "/etc/report.keytab")
    print("answers Negotiate as \(user)")
}
// end
