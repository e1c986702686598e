#if Kerberos
import FoundationEssentials
import Sallyport
import TestSupport
import Testing

/// Passwords, and what is proved by them, show in no log, error, record or description, whatever the scheme.
@Suite(.timeLimit(.minutes(2)))
struct CredentialSecretsTests {
    private static let password = "PLANTED-PASSWORD"
    /// How the fields begin that prove something: NTLM's messages, SPNEGO's tokens in two lengths, Basic's user, Digest's
    /// answer.
    private static let proofs = ["TlRMTVNTUA", "Negotiate YII", "Negotiate YIG", "YW5uO", "response=", "nonce="]

    private struct Inside {
        let kdc: TestKDC
        let negotiate: Apache
        let digest: Apache
        let ntlm: NTLMAcceptor
        let basic: TestServer

        static func start() async throws -> Inside {
            let kdc = try await TestKDC.start(realm: "CORP.EXAMPLE")
            try await kdc.addUser("ann", password: password)
            let keytab = try await kdc.addService("HTTP/localhost")
            return Inside(
                kdc: kdc, negotiate: try await .withNegotiate(keytab: keytab, of: kdc),
                digest: try await .withDigest(user: ("ann", password)),
                ntlm: try await .start([("CORP", "ann", password)]),
                basic: try TestServer { connection in
                    while let head = connection.readHead() {
                        let isSaid = head.contains(" \(Data("ann:\(password)".utf8).base64EncodedString())\r\n")
                        let status = isSaid ? "200 OK" : "401 U\r\nWWW-Authenticate: Basic realm=\"x\""
                        connection.write("HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n")
                    }
                })
        }

        /// A URL for each scheme, and the user there.
        var pages: [(url: String, user: String)] {
            [
                (negotiate.url(), "ann@CORP.EXAMPLE"), (digest.url(), "ann"),
                ("http://localhost:\(ntlm.port)/page", "CORP\\ann"), ("http://localhost:\(basic.port)/page", "ann"),
            ]
        }
    }

    @Test func noPasswordAndNoProofShows() async throws {
        let (inside, site, log) = (try await Inside.start(), try await Site.start(), Recorder())
        for port in [
            inside.negotiate.port, inside.digest.port, inside.ntlm.port, inside.basic.port, inside.kdc.port,
        ] { try await site.admin("server", "add", "localhost:\(port)", "--route", "direct") }
        try await site.admin("realm", "add", "CORP.EXAMPLE", "localhost:\(inside.kdc.port)")
        let sallyport = try await Sallyport.open(
            store: site.folder.file("app"), protectedBy: .keyFile(site.folder.file("app.key")),
            application: .init(Site.app, version: Site.version), logger: log.logger)
        try await sallyport.authorization.activate(link: try await site.link())
        try await sallyport.authorize()
        // The right password last: what was accepted is sent unasked from then on.
        for password in ["\(Self.password)-WRONG", Self.password] {
            for (url, user) in inside.pages {
                let status = try await load(
                    url, as: Credential(user: user, password: Redacted(password)), sallyport, log)
                #expect(status == (password == Self.password ? 200 : 401), "\(url): \(status)")
            }
        }
        log.append(
            "\(sallyport) \(sallyport.kerberos) \(sallyport.credentials) \(try await sallyport.kerberos.tickets())")
        var dumped = ""
        dump(sallyport.kerberos, to: &dumped)
        dump(sallyport.credentials, to: &dumped)
        await sallyport.shutdown()
        let said = log.text + dumped
        #expect(said.contains("trace"), "The app logged at trace.")
        for secret in [Self.password] + Self.proofs { #expect(!said.contains(secret), "\(secret) shows") }
    }

    private func load(
        _ url: String, as credential: Credential, _ sallyport: Sallyport, _ log: Recorder
    ) async throws -> Int {
        var request = try LoadRequest.get(url)
        request.options.credential = credential
        request.options.isRecorded = true
        request.options.allowsBasicOverPlainHTTP = true
        log.append("\(request) \(String(reflecting: request)) \(credential) \(String(reflecting: credential))")
        do {
            let answer = try await sallyport.session.bytes(for: request)
            _ = try await answer.body.collect(upTo: .mebibytes(1))
            log.append("\(answer.record?.json ?? "") \(answer)")
            return answer.head.status.code
        } catch {
            log.append("\(error) \(String(reflecting: error))")
            throw error
        }
    }
}
#endif
