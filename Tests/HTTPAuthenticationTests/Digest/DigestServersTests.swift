import Foundation
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportURLLoading
import TestSupport
import Testing

@testable import SallyportHTTPAuthentication

/// Digest with software of others: Apache httpd, Squid, and what curl says to the same challenges.
@Suite(.timeLimit(.minutes(2)))
struct DigestServersTests {
    private static let ann = Credential(user: "ann", password: Redacted("pässword 1"))

    private func load(
        _ session: SecureSession, _ url: String, _ credential: Credential? = nil
    ) async throws -> (Int, String) {
        var request = try LoadRequest.get(url)
        request.options.credential = credential
        let answer = try await session.data(for: request)
        let (body, response) = (answer.body, answer.head)
        return (response.status.code, String(decoding: body, as: UTF8.self))
    }

    private func lines(_ count: Int, of apache: Apache) async throws -> [String] {
        guard try await eventually({ apache.log.count >= count }) else { throw Unexpected("\(apache.log)") }
        return apache.log
    }

    // MARK: Apache httpd: MD5, auth, rspauth, nextnonce, domain

    @Test func apacheAcceptsTheUserAndIsAskedOnce() async throws {
        let (apache, app) = (try await Apache.withDigest(user: ("ann", "pässword 1")), try AuthenticatingApp())
        let session = app.loading.makeSession()
        let base = "http://127.0.0.1:\(apache.port)/vault/"
        for number in 1...3 {
            let (status, body) = try await load(session, base + "page?a=%20\(number)&b=ä", Self.ann)
            #expect(status == 200 && body == "inside")
        }
        let log = try await lines(4, of: apache)
        #expect(log.map { $0.prefix(3) } == ["401", "200", "200", "200"])
        #expect(log.dropFirst().allSatisfy { $0.contains(" ann ") })
        await app.loading.shutdown()
    }

    @Test func apacheRefusesAWrongPasswordAndTheSameIsNotSentAgain() async throws {
        let (apache, app) = (try await Apache.withDigest(user: ("ann", "pässword 1")), try AuthenticatingApp())
        let wrong = Credential(user: "ann", password: Redacted("wrong"))
        let (status, _) = try await load(
            app.loading.makeSession(), "http://127.0.0.1:\(apache.port)/vault/page", wrong)
        #expect(status == 401)
        #expect(try await lines(2, of: apache).count == 2)
        await app.loading.shutdown()
    }

    @Test func apachesOldNonceCostsOneLegAndNoFailure() async throws {
        let (apache, app) = (
            try await Apache.withDigest(user: ("ann", "pässword 1"), lifetime: 2), try AuthenticatingApp()
        )
        let session = app.loading.makeSession()
        let url = "http://127.0.0.1:\(apache.port)/short/page"
        #expect(try await load(session, url, Self.ann).0 == 200)
        // Apache reads the clock.
        try await Task.sleep(for: .seconds(3.3))
        #expect(try await load(session, url).0 == 200)
        let log = try await lines(4, of: apache)
        #expect(log.map { $0.prefix(3) } == ["401", "200", "401", "200"])
        await app.loading.shutdown()
    }

    @Test func apacheServesTwoUsersOfOneProcessEachByItself() async throws {
        let (apache, app) = (try await Apache.withDigest(user: ("ann", "pässword 1")), try AuthenticatingApp())
        var configuration = SessionConfiguration()
        configuration.principal = Principal("other")
        let (session, other) = (app.loading.makeSession(), app.loading.makeSession(configuration))
        let url = "http://127.0.0.1:\(apache.port)/vault/page"
        #expect(try await load(session, url, Self.ann).0 == 200)
        #expect(try await load(other, url).0 == 401)
        #expect(try await load(session, url).0 == 200)
        await app.loading.shutdown()
    }

    // MARK: libmicrohttpd: SHA-256, nonces that hold for one path

    @Test(arguments: ["md5", "sha256"])
    func libmicrohttpdAcceptsTheUser(_ algorithm: String) async throws {
        let (server, app) = (
            try await MicroHTTPD.start(algorithm, user: ("ann", "pässword 1")), try AuthenticatingApp()
        )
        let session = app.loading.makeSession()
        for path in ["/a", "/a", "/b?c=d", "/b?c=d"] {
            let (status, body) = try await load(session, "http://127.0.0.1:\(server.port)\(path)", Self.ann)
            #expect(status == 200 && body == "inside")
        }
        // The nonce of one path is too old for another.
        let expected = ["401 /a", "200 /a", "200 /a", "401 /b", "200 /b", "200 /b"]
        #expect(try await eventually { server.log == expected }, "\(server.log)")
        await app.loading.shutdown()
    }

    @Test func libmicrohttpdRefusesAWrongPassword() async throws {
        let (server, app) = (try await MicroHTTPD.start("sha256", user: ("ann", "pässword 1")), try AuthenticatingApp())
        let wrong = Credential(user: "ann", password: Redacted("wrong"))
        let session = app.loading.makeSession()
        #expect(try await load(session, "http://127.0.0.1:\(server.port)/a", wrong).0 == 401)
        #expect(try await eventually { server.log == ["401 /a", "401 /a"] }, "\(server.log)")
        await app.loading.shutdown()
    }

    @Test func libmicrohttpdServesManyAtOnce() async throws {
        let (server, app) = (try await MicroHTTPD.start("sha256", user: ("ann", "pässword 1")), try AuthenticatingApp())
        let session = app.loading.makeSession()
        let url = "http://127.0.0.1:\(server.port)/a"
        #expect(try await load(session, url, Self.ann).0 == 200)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<40 { group.addTask { try await load(session, url).0 } }
            for try await status in group { #expect(status == 200) }
        }
        await app.loading.shutdown()
    }

    // MARK: Squid: a proxy that asks

    @Test(arguments: ["http", "https"])
    func squidAcceptsTheUserAndIsAskedOnce(_ scheme: String) async throws {
        let authority = try TestAuthority()
        let squid = try await Squid.start(authority.server(), asking: .digest(user: "ann", password: "password 1"))
        let tls = try TestTLS(authority.server(addresses: [.v4(0x7f00_0001)]))
        let origin = try RecordingOrigin(with: scheme == "https" ? tls : nil)
        let app = try AuthenticatingApp()
        var configuration = SessionConfiguration()
        let user = Credential(user: "ann", password: Redacted("password 1"))
        configuration.proxies = try .all(Proxy("http://localhost:\(squid.port)", credential: user))
        configuration.trust = .only([try authority.der])
        let session = app.loading.makeSession(configuration)
        for number in 1...3 {
            let request = LoadRequest(.get, try origin.url("/\(number)", scheme: scheme))
            let body = try await session.data(for: request).body
            #expect(body == Array("ok".utf8))
        }
        let isAskedOnce = try await eventually { squid.log.filter { $0.hasPrefix("407") }.count == 1 }
        #expect(isAskedOnce, "\(squid.log)")
        #expect(origin.heads.allSatisfy { !$0.lowercased().contains("proxy-authorization") })
        #expect(origin.acceptedConnections == 1, "one user's connections are shared")
        await app.loading.shutdown()
    }

    @Test func aServersChallengeIsAnsweredThroughTheSameTunnel() async throws {
        let authority = try TestAuthority()
        let squid = try await Squid.start(authority.server(), asking: .digest(user: "ann", password: "password 1"))
        let tls = try TestTLS(authority.server(addresses: [.v4(0x7f00_0001)]))
        let origin = try RecordingOrigin(challenge: "Basic realm=\"x\"", with: tls)
        let app = try AuthenticatingApp()
        var configuration = SessionConfiguration()
        let user = Credential(user: "ann", password: Redacted("password 1"))
        configuration.proxies = try .all(Proxy("http://localhost:\(squid.port)", credential: user))
        configuration.trust = .only([try authority.der])
        var request = LoadRequest(.get, try origin.url("/", scheme: "https"))
        request.options.credential = Credential(user: "bob", password: Redacted("password 2"))
        let answer = try await app.loading.makeSession(configuration).data(for: request)
        #expect(answer.head.status == .ok && origin.heads.count == 2)
        #expect(origin.acceptedConnections == 1)
        await app.loading.shutdown()
    }

    // MARK: curl: the same proof for the same nonces

    @Test(arguments: ["MD5", "MD5-sess", "SHA-256", "SHA-256-sess"], ["auth", "auth-int", "auth, auth-int"])
    func curlSaysTheSame(algorithm: String, qop: String) async throws {
        for hashesUser in [false, true] { try await compareWithCurl(algorithm, qop, hashesUser) }
    }

    private func compareWithCurl(_ algorithm: String, _ qop: String, _ hashesUser: Bool) async throws {
        let challenge =
            "Digest realm=\"a \\\"b\\\"\", nonce=\"bm9uY2U=\", opaque=\"b3Bh\", qop=\"\(qop)\", algorithm=\(algorithm)"
            + (hashesUser ? ", userhash=true" : "")
        let said = Lock<String?>(nil)
        let server = try TestServer { connection in
            while let head = connection.readHead() {
                let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("authorization:") }
                if let line { said.withLock { $0 = String(line.dropFirst(15)) } }
                let status = line == nil ? "401 U\r\nWWW-Authenticate: \(challenge)" : "200 OK"
                connection.write("HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n")
            }
        }
        let child = try ChildProcess(
            "/usr/bin/env",
            ["curl", "-s", "-m", "20", "--digest", "-u", "ann:pass", "http://127.0.0.1:\(server.port)/a/b?c=d"],
            environment: ["no_proxy": "*"])
        _ = try await child.outcome()
        let field = try #require(said.withLock { $0 }).trimmingCharacters(in: .whitespaces)
        let theirs = try #require(ChallengeParser.parse([field]).first).parameters
        let offered = try #require(ChallengeParser.parse([challenge]).first.flatMap(DigestChallenge.init))
        var conversation = DigestConversation(offered)
        let empty = offered.algorithm.function.hash([])
        let made = conversation.proof(
            of: DigestMessage(method: "GET", target: "/a/b?c=d", bodyHash: empty),
            for: Credential(user: "ann", password: Redacted("pass")), clientNonce: try #require(theirs["cnonce"]))
        let parsed = ChallengeParser.parse([made?.field ?? ""])
        let ours = try #require(parsed.first).parameters
        #expect(ours == theirs)
    }
}
