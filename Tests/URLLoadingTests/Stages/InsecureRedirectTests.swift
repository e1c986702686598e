import Glibc
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SessionTestSupport
import TestSupport
import Testing
import TransportTestSupport

@testable import SallyportURLLoading

/// Redirects from https to http, between servers that speak both.
@Suite(.timeLimit(.minutes(1)), .onBothEngines) struct InsecureRedirectTests {
    /// A server over TLS that redirects everything to one over plain http, which records what it gets.
    private struct Downgrade {
        private let world: World
        let plain: RecordingOrigin
        let secure: RecordingOrigin
        let loading: URLLoadingSystem
        /// Of the secure one.
        var authority: TestAuthority { world.origin }

        /// - Parameter plainAnswer: the answer of the server over plain http.
        init(_ status: Int = 307, plainAnswer: String = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") throws {
            world = try World()
            loading = world.loading()
            plain = try RecordingOrigin(plainAnswer)
            secure = try RecordingOrigin(
                "HTTP/1.1 \(status) T\r\nLocation: \(plain.url("/taken"))\r\nContent-Length: 0\r\n\r\n",
                with: world.originTLS)
        }

        func session(
            delegate: (any SessionDelegate)? = nil, _ change: (inout SessionConfiguration) -> Void = { _ in }
        ) throws -> SecureSession {
            loading.makeSession(try world.configuration(change), delegate: delegate)
        }

        func request() throws -> LoadRequest {
            var request = LoadRequest(.post, try secure.url(scheme: "https"), body: .text("password=planted\r\n\r\n"))
            request.headerFields[.custom("X-Api-Key")] = "planted"
            request.headerFields[.userAgent] = "report/1"
            return request
        }
    }

    private struct Decider: SessionDelegate {
        let decide: @Sendable (LoadRequest) -> RedirectDecision

        func session(
            _ session: SecureSession, loading request: LoadRequest, willRedirectTo proposed: LoadRequest,
            response: HTTPResponse
        ) async -> RedirectDecision { decide(proposed) }
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func aRedirectFromHTTPSToHTTPIsRefusedAndNothingIsSent(_ status: Int) async throws {
        let servers = try Downgrade(status)
        let error = await #expect(throws: LoadError(.insecureRedirect, "")) {
            try await servers.session().data(for: servers.request())
        }
        #expect(error?.message.contains("allowsInsecureRedirects") == true && error?.step == .response)
        #expect(servers.secure.heads.filter { $0.hasPrefix("POST / ") }.count == 1)
        #expect(servers.plain.acceptedConnections == 0, "\(servers.plain.heads)")
    }

    @Test func aTaskIsRefusedItTooAndItsFileDoesNotAppear() async throws {
        let (servers, folder) = (try Downgrade(), try TemporaryDirectory())
        let session = try servers.session(delegate: Decider { .follow($0) })
        let task = session.dataTask(for: try servers.request())
        task.resume()
        await #expect(throws: LoadError(.insecureRedirect, "")) { try await task.value }
        let file = folder.file("copy")
        let download = session.downloadTask(for: try servers.request(), to: file)
        download.resume()
        await #expect(throws: LoadError(.insecureRedirect, "")) { try await download.value }
        #expect(access(file, F_OK) != 0 && servers.plain.acceptedConnections == 0)
    }

    @Test(arguments: [true, false])
    func ifAllowedTheBodyIsSentWithoutTheAppsFields(_ isOfSession: Bool) async throws {
        let servers = try Downgrade()
        let session = try servers.session { $0.allowsInsecureRedirects = isOfSession }
        var request = try servers.request()
        if !isOfSession { request.options.allowsInsecureRedirects = true }
        request.options.fieldScopes = FieldScopes(others: .site)
        #expect(try await session.data(for: request).head.status == .ok)
        let heads = servers.plain.heads
        #expect(heads.first?.hasPrefix("POST /taken ") == true && heads.first?.contains("X-Api-Key") == false)
        #expect(heads.first?.contains("report/1") == true)
        #expect(try await eventually { servers.plain.heads.last?.hasPrefix("password=planted") == true })
    }

    @Test func theRequestsWordGoesBeforeTheSessions() async throws {
        let servers = try Downgrade()
        var request = try servers.request()
        request.options.allowsInsecureRedirects = false
        await #expect(throws: LoadError(.insecureRedirect, "")) {
            try await servers.session { $0.allowsInsecureRedirects = true }.data(for: request)
        }
        #expect(servers.plain.acceptedConnections == 0)
    }

    @Test func afterAStepInTheClearNothingComesBack() async throws {
        let last = try Site(TestAuthority(name: "Other"))
        let url = try last.server.url("/end", scheme: "https")
        let servers = try Downgrade(plainAnswer: "HTTP/1.1 307 T\r\nLocation: \(url)\r\nContent-Length: 0\r\n\r\n")
        let session = try servers.session {
            $0.allowsInsecureRedirects = true
            $0.trust = .only([(try? servers.authority.der) ?? [], (try? last.authority.der) ?? []])
            $0.fieldScopes = FieldScopes(others: .site)
        }
        #expect(try await session.data(for: servers.request()).head.status == .ok)
        let head = try #require(last.seen.heads.first)
        #expect(head.hasPrefix("POST /end ") && !head.contains("planted") && head.contains("report/1"))
    }

    @Test func aRedirectFromHTTPToHTTPSIsFollowed() async throws {
        let site = try Site(TestAuthority())
        let url = try site.server.url("/end", scheme: "https")
        let plain = try RecordingOrigin("HTTP/1.1 308 T\r\nLocation: \(url)\r\nContent-Length: 0\r\n\r\n")
        var configuration = SessionConfiguration()
        configuration.trust = .only([try site.authority.der])
        configuration.additionalHeaders = [.custom("X-Api-Key"): "planted"]
        for scope in [FieldScope.origin, .site] {
            configuration.fieldScopes = FieldScopes(others: scope)
            let session = URLLoadingSystem(gate: StubGate()).makeSession(configuration)
            _ = try await session.data(for: LoadRequest(.get, plain.url()))
        }
        #expect(site.seen.heads.map { $0.contains("planted") } == [false, true], "the same host, another origin")
    }

    // MARK: The app's decisions

    @Test func followingTheProposedRequestDoesNotAllowIt() async throws {
        let servers = try Downgrade()
        let seen = Lock<[LoadRequest]>([])
        let delegate = Decider { proposed in
            seen.withLock { $0.append(proposed) }
            return .follow(proposed)
        }
        await #expect(throws: LoadError(.insecureRedirect, "")) {
            try await servers.session(delegate: delegate).data(for: servers.request())
        }
        let proposed = try #require(seen.withLock { $0.first })
        #expect(!proposed.url.isSecure && proposed.headerFields[.custom("X-Api-Key")] == nil)
        #expect(servers.plain.acceptedConnections == 0)
    }

    @Test func theAppAllowsOneHopByItsRequest() async throws {
        let servers = try Downgrade()
        let delegate = Decider { proposed in
            var chosen = proposed
            chosen.options.allowsInsecureRedirects = true
            chosen.body = nil
            chosen.method = .get
            return .follow(chosen)
        }
        let session = try servers.session(delegate: delegate)
        #expect(try await session.data(for: servers.request()).head.status == .ok)
        #expect(servers.plain.heads.count == 1 && servers.plain.heads[0].hasPrefix("GET /taken "))
    }

    @Test func theAppMayStopOrLeadToHTTPS() async throws {
        let (servers, site) = (try Downgrade(), try Site(TestAuthority(name: "Other")))
        let stopped = try servers.session(delegate: Decider { _ in .stop })
        #expect(try await stopped.data(for: servers.request()).head.status.code == 307)
        let url = try site.server.url("/safe", scheme: "https")
        let delegate = Decider { proposed in
            var chosen = proposed
            chosen.url = url
            return .follow(chosen)
        }
        let session = try servers.session(delegate: delegate) {
            $0.trust = .only([(try? servers.authority.der) ?? [], (try? site.authority.der) ?? []])
        }
        #expect(try await session.data(for: servers.request()).head.status == .ok)
        #expect(site.seen.heads.first?.hasPrefix("POST /safe ") == true)
        #expect(servers.plain.acceptedConnections == 0)
    }

    /// The server's redirect stays with https, and the app changes it to http by mistake.
    @Test func anAppThatLeadsToHTTPIsRefusedToo() async throws {
        let servers = try Downgrade()
        let plain = try servers.plain.url()
        let site = try Site(servers.authority)
        site.answer { $0.write("HTTP/1.1 302 F\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n") }
        let delegate = Decider { proposed in
            var chosen = proposed
            chosen.url = plain
            return .follow(chosen)
        }
        await #expect(throws: LoadError(.insecureRedirect, "")) {
            try await servers.session(delegate: delegate).data(for: site.request())
        }
        #expect(servers.plain.acceptedConnections == 0)
    }
}
