import Foundation
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportHTTPAuthentication
import SallyportLoading
import SallyportURLLoading
import TestSupport
import Testing

/// Basic between a session and a real nginx, which logs what it was told.
@Suite(.timeLimit(.minutes(1)))
struct SessionAuthenticationTests {
    private static let ann = Credential(user: "ann", password: Redacted("pässword 1"))

    /// Answers with one disposition, and keeps which method was asked what.
    private final class Delegate: SessionDelegate {
        let disposition: ChallengeDisposition
        let asked = Lock<[String]>([])

        init(_ disposition: ChallengeDisposition) { self.disposition = disposition }

        func session(
            _ session: SecureSession, didReceive challenge: AuthenticationChallenge
        ) async -> ChallengeDisposition {
            asked.withLock { $0.append("session") }
            return disposition
        }

        func session(
            _ session: SecureSession, loading request: LoadRequest, didReceive challenge: AuthenticationChallenge
        ) async -> ChallengeDisposition {
            asked.withLock { $0.append("\(request.url.target) \(challenge.protectionSpace.realm ?? "-")") }
            return disposition
        }
    }

    /// Answers nothing.
    private struct Silent: SessionDelegate {}

    /// Answers when a test says so, and takes no notice of the end of its task.
    private struct Thinking: SessionDelegate {
        let asked = Signal()
        let answer = Signal()

        func session(
            _ session: SecureSession, loading request: LoadRequest, didReceive challenge: AuthenticationChallenge
        ) async -> ChallengeDisposition {
            asked.fire()
            await answer.wait()
            return .use(SessionAuthenticationTests.ann)
        }
    }

    private struct GuardedSite {
        let nginx: Nginx
        let app: AuthenticatingApp

        init() async throws {
            let folder = try TemporaryDirectory()
            try folder.write("ann:{PLAIN}pässword 1\n", to: "users")
            try folder.write("inside", to: "page")
            nginx = try await Nginx.start(in: folder) { port in
                """
                log_format line '$request_method $uri $remote_user $http_authorization $status';
                server {
                    listen 127.0.0.1:\(port);
                    access_log \(folder.path)/access.log line;
                    root \(folder.path);
                    location /private/ { alias \(folder.path)/; auth_basic "Käse"; auth_basic_user_file \(folder.path)/users; }
                    location /away { return 302 http://localhost:\(port)/private/page; }
                    location /here { return 302 /private/page; }
                    location /stored { auth_basic "w"; auth_basic_user_file \(folder.path)/users; dav_methods PUT; }
                }
                """
            }
            try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.path)
            app = try AuthenticatingApp()
        }

        /// The tests are about Basic, and the server has no TLS.
        func makeSession(delegate: (any SessionDelegate)? = nil) -> SecureSession {
            var configuration = SessionConfiguration()
            configuration.allowsBasicOverPlainHTTP = true
            return app.loading.makeSession(configuration, delegate: delegate)
        }

        func request(_ path: String) throws -> LoadRequest { try .get("http://127.0.0.1:\(nginx.port)\(path)") }

        /// The lines of the log, once there are so many.
        func log(of count: Int) async throws -> [String] {
            guard try await eventually({ nginx.log.count >= count }) else {
                throw Unexpected("The log has \(nginx.log.count) lines instead of \(count).")
            }
            return nginx.log
        }
    }

    private func text(
        _ session: SecureSession, _ request: LoadRequest, delegate: (any SessionDelegate)? = nil
    ) async throws -> (Int, String) {
        let answer = try await session.data(for: request, delegate: delegate)
        let (body, response) = (answer.body, answer.head)
        return (response.status.code, String(decoding: body, as: UTF8.self))
    }

    @Test func theDelegatesAnswerIsAccepted() async throws {
        let site = try await GuardedSite()
        let delegate = Delegate(.use(Self.ann))
        let session = site.makeSession(delegate: delegate)
        for _ in 0..<2 {
            let (status, body) = try await text(session, site.request("/private/page"))
            #expect(status == 200 && body == "inside")
        }
        #expect(delegate.asked.withLock { $0 } == ["/private/page Käse"])
        let log = try await site.log(of: 3)
        #expect(log.map { $0.split(separator: " ").last } == ["401", "200", "200"])
        await site.app.loading.shutdown()
    }

    @Test func aLoadsOwnDelegateIsAskedBeforeTheSessions() async throws {
        let site = try await GuardedSite()
        let (own, shared) = (Delegate(.use(Self.ann)), Delegate(.cancel))
        let session = site.makeSession(delegate: shared)
        let (status, _) = try await text(session, site.request("/private/page"), delegate: own)
        #expect(status == 200 && shared.asked.withLock { $0.isEmpty })
        await site.app.credentials.clear()
        let error = await #expect(throws: LoadError.self) {
            try await text(session, site.request("/private/page"), delegate: Silent())
        }
        #expect(error?.code == .authenticationCancelled, "what the own one does not answer goes to the session's")
        await site.app.loading.shutdown()
    }

    @Test func aWithdrawalEndsALoadWhileTheAppThinks() async throws {
        let app = try AuthenticatingApp()
        let heads = Lock(0)
        let fields = "WWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n"
        let server = try TestServer { connection in
            while connection.readHead() != nil {
                heads.withLock { $0 += 1 }
                connection.write("HTTP/1.1 401 Unauthorized\r\n\(fields)\r\n")
            }
        }
        var configuration = SessionConfiguration()
        configuration.allowsBasicOverPlainHTTP = true
        let delegate = Thinking()
        let session = app.loading.makeSession(configuration, delegate: delegate)
        let request = LoadRequest(.get, try server.url())
        let load = Task { try await session.data(for: request) }
        await delegate.asked.wait()
        app.world.gate.withdraw(.blocked)
        let error = await #expect(throws: LoadError.self) { _ = try await load.value }
        #expect(error?.code == .withdrawn)
        delegate.answer.fire()
        #expect(heads.withLock { $0 } == 1)
        await app.loading.shutdown()
    }

    @Test func withoutAnAnswerTheServersIsTheResult() async throws {
        let site = try await GuardedSite()
        let session = site.makeSession(delegate: Silent())
        let (status, body) = try await text(session, site.request("/private/page"))
        #expect(status == 401 && body.contains("401"))
        await site.app.loading.shutdown()
    }

    @Test func aRedirectCarriesNoCredentialToAnotherOrigin() async throws {
        let site = try await GuardedSite()
        let session = site.makeSession()
        for (path, expected) in [("/here", 200), ("/away", 401)] {
            var request = try site.request(path)
            request.options.credential = Self.ann
            let (status, _) = try await text(session, request)
            #expect(status == expected)
        }
        let log = try await site.log(of: 5)
        #expect(log.count == 5)
        #expect(log.last == "GET /private/page - - 401", "another host asks, and is told nothing")
        #expect(log.filter { $0.contains("Basic") }.count == 1)
        await site.app.loading.shutdown()
    }

    @Test func aBodyIsSentAgain() async throws {
        let site = try await GuardedSite()
        let session = site.makeSession()
        var request = try site.request("/stored")
        request.method = .put
        request.options.credential = Self.ann
        let content = [UInt8](repeating: 7, count: 300_000)
        let response = try await session.upload(for: request, from: .bytes(content)).head
        #expect(response.status.code == 201)
        let stored = try Data(contentsOf: URL(filePath: site.nginx.folder.file("stored")))
        #expect(Array(stored) == content)
        await site.app.loading.shutdown()
    }

    @Test func manyAtOnceAreEachAnswered() async throws {
        let site = try await GuardedSite()
        let session = site.makeSession(delegate: Delegate(.use(Self.ann)))
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<40 { group.addTask { try await text(session, site.request("/private/page")).0 } }
            for try await status in group { #expect(status == 200) }
        }
        await site.app.loading.shutdown()
    }

    @Test func oneThatDownloadsIsAskedToo() async throws {
        let site = try await GuardedSite()
        await site.app.credentials.setDefault(
            Self.ann,
            for: ProtectionSpace(
                origin: try site.request("/").url.origin, realm: "Käse", method: .basic))
        let folder = try TemporaryDirectory()
        let target = folder.file("copy")
        _ = try await site.makeSession().download(for: site.request("/private/page"), to: target)
        #expect(try String(contentsOfFile: target, encoding: .utf8) == "inside")
        await site.app.loading.shutdown()
    }
}
