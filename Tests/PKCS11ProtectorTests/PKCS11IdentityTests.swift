import Crypto
import FoundationEssentials
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportPKCS11Identity
import SallyportTransport
import TestSupport
import Testing

/// Client certificates whose keys lie in a token, shown to real servers. Against SoftHSM.
@Suite(.serialized, .timeLimit(.minutes(1))) struct PKCS11IdentityTests {
    private let folder: TemporaryDirectory
    private let clients: TestAuthority
    private let authority: TestAuthority

    init() throws {
        try #require(Tokens.shared.isReady, "softhsm2 is missing: make dependencies")
        folder = try TemporaryDirectory()
        clients = try TestAuthority(name: "Clients")
        authority = try TestAuthority(name: "Servers")
    }

    private func openssl(_ arguments: String...) { #expect(run(["openssl"] + arguments)) }

    /// Puts a key into the token `three`, and a certificate of the test's authority, which is made with openssl so that
    /// it can be of any kind.
    private func store(_ label: String, _ kind: [String], withCertificate: Bool = true) throws -> [UInt8] {
        try folder.write(clients.pem, to: "ca.pem")
        try folder.write(clients.key.pemRepresentation, to: "ca.key")
        #expect(run(["openssl", "genpkey"] + kind + ["-out", folder.file("key")]))
        openssl("req", "-new", "-key", folder.file("key"), "-subj", "/CN=\(label)", "-out", folder.file("csr"))
        openssl(
            "x509", "-req", "-in", folder.file("csr"), "-CA", folder.file("ca.pem"), "-CAkey", folder.file("ca.key"),
            "-days", "1", "-out", folder.file("der"), "-outform", "DER")
        openssl("pkcs8", "-topk8", "-nocrypt", "-in", folder.file("key"), "-out", folder.file("p8"))
        let identifier = label.utf8.map { String($0, radix: 16) }.joined()
        #expect(
            run([
                "softhsm2-util", "--import", folder.file("p8"), "--token", "three", "--label", label,
                "--id", identifier, "--pin", "1234",
            ]))
        guard withCertificate else { return try certificate() }
        #expect(
            run([
                "pkcs11-tool", "--module", Tokens.module, "--token-label", "three", "--login", "--pin", "1234",
                "--write-object", folder.file("der"), "--type", "cert", "--label", label, "--id", identifier,
            ]))
        return try certificate()
    }

    private func certificate() throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: folder.file("der")))) }

    private func identity(_ label: String, certificates: [[UInt8]]? = nil) throws -> PKCS11Identity {
        try PKCS11Identity(
            module: Tokens.module, token: "three", label: label, pin: Redacted("1234"), certificates: certificates)
    }

    /// The certificate that a server of one version of TLS saw; nil where the exchange failed.
    private func shown(_ identity: PKCS11Identity, _ version: TLSVersion) async throws -> [UInt8]? {
        var tls = try TestTLS(authority.server(addresses: [.v4(0x7f00_0001)]), requiring: clients)
        tls.version = version
        let seen = Lock<[UInt8]?>(nil)
        let server = try TestServer { [tls] connection in
            guard let client = tls.accept(connection) else { return connection.awaitEnd() }
            seen.withLock { $0 = client.peerCertificate }
            client.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        let path = try ConnectionPath(trust: .only([authority.der]), identity: identity.clientIdentity)
        _ = try? await Transport().exchange(.init(.get, server.url(scheme: "https")), via: path)
        return seen.withLock { $0 }
    }

    @Test(arguments: [
        ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
        ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"],
        ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
    ])
    func aKeyInATokenSignsHandshakes(_ kind: [String]) async throws {
        let label = "tls-\(kind.last ?? "")".replacing(":", with: "-")
        let certificate = try store(label, kind)
        let identity = try identity(label)
        for version in [TLSVersion.tls12, .tls13] {
            #expect(try await shown(identity, version) == certificate, "\(version)")
        }
    }

    @Test func theAppMayHaveTheCertificate() async throws {
        let kind = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
        let certificate = try store("bare", kind, withCertificate: false)
        #expect(throws: LoadError.self) { try identity("bare") }
        #expect(try await shown(identity("bare", certificates: [certificate]), .tls13) == certificate)
    }

    @Test func anothersCertificateIsNotShown() async throws {
        let kind = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
        _ = try store("mine", kind)
        let other = try identity("mine", certificates: [clients.client().der])
        #expect(try await shown(other, .tls13) == nil)
    }

    @Test func missingObjectsAreAnError() throws {
        func code(_ module: String, _ token: String, _ pin: String) -> LoadError.Code? {
            do throws(LoadError) {
                _ = try PKCS11Identity(module: module, token: token, label: "none", pin: Redacted(pin))
                return nil
            } catch { return error.code }
        }
        #expect(code(Tokens.module, "three", "1234") == .invalidConfiguration)
        #expect(code(Tokens.module, "absent", "1234") == .invalidConfiguration)
        #expect(code("/nowhere.so", "three", "1234") == .invalidConfiguration)
    }
}
