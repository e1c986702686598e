import Foundation
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportURLLoading
import TestSupport
import Testing

@testable import SallyportHTTPAuthentication

/// NTLM between a session and pyspnego, which verifies the proof, the code over the messages and the channel binding.
@Suite(.timeLimit(.minutes(2)))
struct NTLMServersTests {
    private static let ann = Credential(user: "ann", password: Redacted("password 1"))
    private static let jürgen = Credential(user: "CORP\\jürgen", password: Redacted("pässwörd €𝄞"))
    private static let users = [
        (domain: "", name: "ann", password: "password 1"), (domain: "CORP", name: "jürgen", password: "pässwörd €𝄞"),
        (domain: "", name: "bob@CORP.EXAMPLE", password: "other"),
    ]

    private static func app(allowsNTLMv1: Bool = false) throws -> AuthenticatingApp {
        try AuthenticatingApp(schemes: [NTLMScheme { allowsNTLMv1 }, DigestScheme(), BasicScheme()])
    }

    private func load(
        _ session: SecureSession, _ server: NTLMAcceptor, _ path: String = "/page", _ credential: Credential? = nil,
        _ method: HTTPRequest.Method = .get, body: RequestBody? = nil, principal: Principal? = nil,
        scheme: String = "http"
    ) async throws -> (status: Int, body: String) {
        var request = LoadRequest(method, try RequestURL("\(scheme)://127.0.0.1:\(server.port)\(path)"), body: body)
        request.options.credential = credential
        request.options.principal = principal
        let answer = try await session.data(for: request)
        let (body, response) = (answer.body, answer.head)
        return (response.status.code, String(decoding: body, as: UTF8.self))
    }

    // MARK: Right and wrong

    @Test(arguments: [
        (ann, "hello ann"), (jürgen, "hello CORP\\jürgen"),
        (Credential(user: "corp\\JÜRGEN", password: jürgen.password), "hello CORP\\jürgen"),
        (Credential(user: "bob@CORP.EXAMPLE", password: Redacted("other")), "hello bob@CORP.EXAMPLE"),
    ])
    func theUserIsAcceptedAndAskedOnce(_ credential: Credential, _ greeting: String) async throws {
        let (server, app) = (try await NTLMAcceptor.start(Self.users), try Self.app())
        let session = app.loading.makeSession()
        for _ in 0..<3 {
            let (status, body) = try await load(session, server, "/page", credential)
            #expect(status == 200 && body.lowercased() == greeting.lowercased())
        }
        let log = try await server.log(of: 5)
        #expect(log.map(\.status) == [401, 401, 200, 200, 200], "no leg more on a connection that stands")
        #expect(log.map(\.connection) == [1, 2, 2, 2, 2])
        #expect(log[2].facts == ["mic", "HTTP/127.0.0.1"])
        await app.loading.shutdown()
    }

    @Test(arguments: [
        Credential(user: "ann", password: Redacted("Password 1")), Credential(user: "eve", password: Redacted("x")),
        Credential(user: "CORP\\ann", password: ann.password),
    ])
    func aWrongCredentialIsSentOnce(_ credential: Credential) async throws {
        let (server, app) = (try await NTLMAcceptor.start(Self.users), try Self.app())
        let session = app.loading.makeSession()
        #expect(try await load(session, server, "/page", credential).status == 401)
        #expect(try await server.log(of: 3).map(\.status) == [401, 401, 401])
        #expect(try await load(session, server).status == 401)
        #expect(try await server.log(of: 4).count == 4, "and not kept")
        await app.loading.shutdown()
    }

    @Test func theDelegateIsToldOfTheFailureAndMayAnswerAgain() async throws {
        let (server, app) = (try await NTLMAcceptor.start(Self.users), try Self.app())
        let delegate = Delegate(
            [.use(Credential(user: "ann", password: Redacted("wrong"))), .use(Self.ann)])
        let session = app.loading.makeSession(delegate: delegate)
        #expect(try await load(session, server).status == 200)
        #expect(delegate.asked.withLock { $0 } == ["ntlm 0", "ntlm 1"])
        await app.loading.shutdown()
    }

    private final class Delegate: SessionDelegate {
        let asked = Lock<[String]>([])
        private let answers: [ChallengeDisposition]

        init(_ answers: [ChallengeDisposition]) { self.answers = answers }

        func session(
            _ session: SecureSession, loading request: LoadRequest, didReceive challenge: AuthenticationChallenge
        ) async -> ChallengeDisposition {
            let number = asked.withLock { asked in
                asked.append("\(challenge.protectionSpace.method) \(challenge.previousFailureCount)")
                return asked.count - 1
            }
            return answers[min(number, answers.count - 1)]
        }
    }

    // MARK: Bodies

    @Test func aBodyGoesOnlyWhereTheServerKnowsTheUser() async throws {
        let (server, app) = (try await NTLMAcceptor.start(Self.users), try Self.app())
        let session = app.loading.makeSession()
        // Without a word of the server's yet, the body goes along; it is sent again.
        #expect(try await load(session, server, "/a", Self.ann, .post, body: .text("12345")).status == 200)
        let reads = Lock(0)
        let once = RequestBody.once(length: 5) { writer in
            reads.withLock { $0 += 1 }
            try await writer.write(Array("12345".utf8))
        }
        #expect(try await load(session, server, "/b", Self.ann, .put, body: once).status == 200)
        let log = try await server.log(of: 4)
        #expect(log.map(\.length) == [5, 0, 5, 5] && log.map(\.status) == [401, 401, 200, 200], "\(log)")
        #expect(reads.withLock { $0 } == 1)
        await app.loading.shutdown()
    }

    /// The user is known, and the connection is gone: the first leg goes without the body, which can be read once only.
    @Test func aBodyThatCanBeReadOnceIsNotSentWithTheFirstLeg() async throws {
        let (server, app) = (try await NTLMAcceptor.start(Self.users), try Self.app())
        let session = app.loading.makeSession()
        #expect(try await load(session, server, "/a", Self.ann).status == 200)
        try await server.closeConnections()
        let once = RequestBody.once(length: 3) { try await $0.write(Array("abc".utf8)) }
        #expect(try await load(session, server, "/b", Self.ann, .post, body: once).status == 200)
        let log = try await server.log(of: 5)
        #expect(log.suffix(2).map(\.length) == [0, 3] && log.suffix(2).map(\.status) == [401, 200])
        await app.loading.shutdown()
    }

    @Test func anOpenPageGetsTheBodyAfterAll() async throws {
        let (server, app) = (try await NTLMAcceptor.start(Self.users), try Self.app())
        let session = app.loading.makeSession()
        #expect(try await load(session, server, "/a", Self.ann).status == 200)
        try await server.closeConnections()
        #expect(try await load(session, server, "/open", Self.ann, .post, body: .text("abc")).body == "open")
        #expect(try await server.log(of: 5).suffix(2).map(\.length) == [0, 3])
        await app.loading.shutdown()
    }

    // MARK: Principals

    @Test func twoUsersNeverShareAConnection() async throws {
        let (server, app) = (try await NTLMAcceptor.start(Self.users), try Self.app())
        let session = app.loading.makeSession()
        let principals = [(Principal("ann"), Self.ann), (Principal("jürgen"), Self.jürgen)]
        for (principal, credential) in principals + principals {
            let body = try await load(session, server, "/page", credential, principal: principal).body
            #expect(body == "hello \(credential.user)")
        }
        let log = try await server.log(of: 8)
        let users = Dictionary(grouping: log.filter { $0.status == 200 }, by: \.connection)
            .mapValues { Set($0.map(\.user)) }
        #expect(users.values.allSatisfy { $0.count == 1 } && users.count == 2)
        #expect(try await load(session, server, principal: Principal("eve")).status == 401)
        await app.loading.shutdown()
    }

    @Test func clearedCredentialsCloseTheirConnections() async throws {
        let (server, app) = (try await NTLMAcceptor.start(Self.users), try Self.app())
        let session = app.loading.makeSession()
        #expect(try await load(session, server, "/page", Self.ann).status == 200)
        await app.credentials.clear(for: .ntlm)
        #expect(try await load(session, server).status == 401)
        #expect(try await load(session, server, "/page", Self.jürgen).body == "hello CORP\\jürgen")
        let log = try await server.log(of: 7)
        #expect(Set(log.filter { $0.status == 200 }.map(\.connection)).count == 2)
        await app.loading.shutdown()
    }

    @Test func manyLoadsOfOneUserShareSixConnections() async throws {
        let (server, app) = (try await NTLMAcceptor.start(Self.users), try Self.app())
        let session = app.loading.makeSession()
        #expect(try await load(session, server, "/page", Self.ann).status == 200)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<60 { group.addTask { try await load(session, server, "/\(number)").status } }
            for try await status in group { #expect(status == 200) }
        }
        let connections = Set(server.log.filter { $0.status == 200 }.map(\.connection))
        #expect(connections.count <= 6)
        await app.loading.shutdown()
    }

    @Test func twoHundredPrincipalsAtOnce() async throws {
        let users = (0..<200).map { (domain: "", name: "user\($0)", password: "secret\($0)") }
        let (server, app) = (try await NTLMAcceptor.start(users), try Self.app())
        let session = app.loading.makeSession()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (_, name, password) in users {
                group.addTask {
                    let credential = Credential(user: name, password: Redacted(password))
                    for _ in 0..<2 {
                        let body = try await load(
                            session, server, "/page", credential, principal: Principal(name)
                        ).body
                        #expect(body == "hello \(name)")
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await server.log(of: 800).filter { $0.status == 200 }.count == 400)
        await app.loading.shutdown()
    }

    // MARK: Connections that end

    @Test func aConnectionThatDiesBetweenTheLegsCostsAnother() async throws {
        let (server, app) = (try await NTLMAcceptor.start(Self.users, options: ["--dying", "2"]), try Self.app())
        #expect(try await load(app.loading.makeSession(), server, "/page", Self.ann).status == 200)
        #expect(try await server.log(of: 5).map(\.status) == [401, 401, 401, 401, 200])
        await app.loading.shutdown()
    }

    @Test func connectionsThatDieAgainAndAgainEndTheLoad() async throws {
        let (server, app) = (try await NTLMAcceptor.start(Self.users, options: ["--dying", "100"]), try Self.app())
        let error = await #expect(throws: LoadError.self) {
            _ = try await load(app.loading.makeSession(), server, "/page", Self.ann)
        }
        #expect(error?.code == .connectionLost)
        #expect(try await server.log(of: 5).count == 5, "the first one, and three anew")
        await app.loading.shutdown()
    }

    @Test func aServerThatForgetsIsToldAgain() async throws {
        let (server, app) = (try await NTLMAcceptor.start(Self.users, options: ["--forgetful", "2"]), try Self.app())
        let session = app.loading.makeSession()
        for _ in 0..<4 { #expect(try await load(session, server, "/page", Self.ann).status == 200) }
        #expect(try await server.log(of: 8).map(\.status) == [401, 401, 200, 200, 401, 401, 200, 200])
        await app.loading.shutdown()
    }

    // MARK: TLS

    private func secureSession(_ app: AuthenticatingApp, _ authority: TestAuthority) throws -> SecureSession {
        var configuration = SessionConfiguration()
        configuration.trust = .only([try authority.der])
        return app.loading.makeSession(configuration)
    }

    @Test func theProofIsBoundToTheServersCertificate() async throws {
        let authority = try TestAuthority()
        let identity = try authority.server(addresses: [.v4(0x7f00_0001)])
        let (server, app) = (try await NTLMAcceptor.start(Self.users, identity: identity), try Self.app())
        let session = try secureSession(app, authority)
        for _ in 0..<2 {
            #expect(try await load(session, server, "/page", Self.jürgen, scheme: "https").status == 200)
        }
        let log = try await server.log(of: 4)
        #expect(log.map(\.status) == [401, 401, 200, 200] && log[2].facts.prefix(2) == ["mic", "bindings"])
        await app.loading.shutdown()
    }

    /// RFC 5929 §4.1: the hash of the certificate is by the function of its signature, and by SHA-256 for one that is weak.
    @Test(arguments: ["-sha1", "-sha256", "-sha384", "-sha512"], ["rsa:2048", "ec"])
    func theBindingIsByTheHashOfTheCertificatesSignature(_ function: String, _ key: String) async throws {
        let folder = try TemporaryDirectory()
        let keyOptions = key == "ec" ? ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"] : [key]
        let made = try await ChildProcess(
            "/usr/bin/env",
            ["openssl", "req", "-x509", "-newkey"] + keyOptions + [
                "-nodes", function, "-days", "2", "-subj", "/CN=a", "-addext", "subjectAltName=IP:127.0.0.1",
                "-keyout", folder.file("key.pem"), "-out", folder.file("certificate.pem"),
            ]
        ).outcome()
        try #require(made.status == 0, "\(made.error)")
        let pem = try String(contentsOfFile: folder.file("certificate.pem"), encoding: .utf8)
        try folder.write(
            pem + String(contentsOfFile: folder.file("key.pem"), encoding: .utf8), to: "both.pem")
        let text = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
        let server = try await NTLMAcceptor.start(Self.users, options: ["--certificate", folder.file("both.pem")])
        let app = try Self.app()
        var configuration = SessionConfiguration()
        configuration.trust = .only([Array(try #require(Data(base64Encoded: text)))])
        let session = app.loading.makeSession(configuration)
        #expect(try await load(session, server, "/page", Self.ann, scheme: "https").status == 200)
        #expect(try await server.log(of: 3).last?.facts.prefix(2) == ["mic", "bindings"])
        await app.loading.shutdown()
    }

    /// An attacker that forwards the proof to the server over its own connection has another certificate.
    @Test func aProofForAnotherCertificateIsRefused() async throws {
        let authority = try TestAuthority()
        let identity = try authority.server(addresses: [.v4(0x7f00_0001)])
        let server = try await NTLMAcceptor.start(Self.users, identity: identity, options: ["--foreign-bindings"])
        let app = try Self.app()
        let session = try secureSession(app, authority)
        #expect(try await load(session, server, "/page", Self.ann, scheme: "https").status == 401)
        #expect(try await server.log(of: 3).last?.facts == ["BadBindingsError"])
        await app.loading.shutdown()
    }

    // MARK: Old servers

    @Test(arguments: ["v1", "session"])
    func versionsBefore2AreAnsweredIfAllowed(_ kind: String) async throws {
        let server = try await NTLMAcceptor.start(Self.users, options: ["--old", kind])
        let app = try Self.app(allowsNTLMv1: true)
        #expect(try await load(app.loading.makeSession(), server, "/page", Self.jürgen).status == 200)
        #expect(try await server.log(of: 3).last?.facts == ["v1"])
        await app.loading.shutdown()
    }

    @Test(arguments: ["v1", "session"])
    func elseItGetsVersion2(_ kind: String) async throws {
        let (server, app) = (try await NTLMAcceptor.start(Self.users, options: ["--old", kind]), try Self.app())
        #expect(try await load(app.loading.makeSession(), server, "/page", Self.ann).status == 200)
        #expect(try await server.log(of: 3).last?.facts.first == "mic")
        await app.loading.shutdown()
    }

    /// A server that offers version 2 never gets less.
    @Test func version2IsPreferredWhereBothAreAllowed() async throws {
        let (server, app) = (try await NTLMAcceptor.start(Self.users), try Self.app(allowsNTLMv1: true))
        #expect(try await load(app.loading.makeSession(), server, "/page", Self.ann).status == 200)
        #expect(try await server.log(of: 3).last?.facts.first == "mic")
        await app.loading.shutdown()
    }

    // MARK: curl

    /// The acceptor takes what others say too; curl 7.88 sends no code over the messages.
    @Test func curlIsAcceptedByTheSameServer() async throws {
        let server = try await NTLMAcceptor.start(Self.users, options: ["--without-code"])
        let child = try ChildProcess(
            "/usr/bin/env",
            ["curl", "-s", "-m", "20", "--ntlm", "-u", "ann:password 1", "http://127.0.0.1:\(server.port)/page"],
            environment: ["no_proxy": "*"])
        #expect(try await child.outcome().output == "hello ann")
    }
}
