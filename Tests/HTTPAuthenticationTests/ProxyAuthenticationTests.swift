import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportHTTPAuthentication
import SallyportLoading
import SallyportURLLoading
import SessionTestSupport
import TestSupport
import Testing

/// Basic between a session and a real Squid, and what a server must never get of it.
@Suite(.timeLimit(.minutes(2)))
struct ProxyAuthenticationTests {
    private static let ann = Credential(user: "ann", password: Redacted("pässword 1"))
    private static let planted = Credential(user: "ann", password: Redacted("planted"))

    private final class Delegate: SessionDelegate {
        let disposition: ChallengeDisposition
        let asked = Lock<[AuthenticationChallenge]>([])

        init(_ disposition: ChallengeDisposition) { self.disposition = disposition }

        func session(
            _ session: SecureSession, loading request: LoadRequest, didReceive challenge: AuthenticationChallenge
        ) async -> ChallengeDisposition {
            // The trust of the server behind the proxy is another question.
            guard !challenge.protectionSpace.method.isOfConnection else { return .notImplemented }
            asked.withLock { $0.append(challenge) }
            return challenge.previousFailureCount == 0 ? disposition : .performDefaultHandling
        }
    }

    /// A Squid that asks, and an origin behind it that takes note of what it gets.
    private struct GuardedProxy {
        let app: AuthenticatingApp
        let squid: Squid
        let origin: RecordingOrigin

        /// - Parameter answer: what the origin says.
        init(_ answer: String = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", isSecure: Bool) async throws {
            app = try AuthenticatingApp()
            squid = try await Squid.start(
                app.world.originTLS.identity, asking: .basic(user: "ann", password: "pässword 1"))
            origin = try RecordingOrigin(answer, with: isSecure ? app.world.originTLS : nil)
        }

        func session(
            _ credential: Credential? = nil, overTLS: Bool = false, delegate: (any SessionDelegate)? = nil
        ) throws -> SecureSession {
            let text = overTLS ? "https://localhost:\(squid.securePort)" : "http://localhost:\(squid.port)"
            var proxy = try Proxy(text, credential: credential)
            proxy.trust = .only([try app.world.origin.der])
            let configuration = try app.world.configuration { [proxy] in
                $0.proxies = try .all(proxy)
                // The test is about Basic.
                $0.allowsBasicOverPlainHTTP = true
            }
            return app.loading.makeSession(configuration, delegate: delegate)
        }
    }

    // MARK: Whence the credential comes

    @Test(arguments: ["http", "https"], [false, true])
    func theSettingsCredentialAnswers(_ scheme: String, _ overTLS: Bool) async throws {
        let guarded = try await GuardedProxy(isSecure: scheme == "https")
        let session = try guarded.session(Self.ann, overTLS: overTLS)
        for _ in 0..<2 {
            let body = try await session.data(for: .init(.get, guarded.origin.url("/x", scheme: scheme))).body
            #expect(body == Array("ok".utf8))
        }
        // Asked once; what was accepted is said unasked from then on.
        let isAskedOnce = try await eventually { guarded.squid.log.filter { $0.hasPrefix("407") }.count == 1 }
        #expect(isAskedOnce, "\(guarded.squid.log)")
        #expect(guarded.origin.heads.allSatisfy { !$0.lowercased().contains("proxy-authorization") })
        #expect(guarded.origin.heads.count == 2)
    }

    @Test(arguments: ["http", "https"])
    func theRequestsCredentialAnswersBeforeTheSettings(_ scheme: String) async throws {
        let guarded = try await GuardedProxy(isSecure: scheme == "https")
        var request = LoadRequest(.get, try guarded.origin.url(scheme: scheme))
        request.options.proxyCredential = Self.ann
        request.options.credential = Self.planted
        #expect(try await guarded.session(Self.planted).data(for: request).head.status == .ok)
        #expect(guarded.origin.heads.allSatisfy { !$0.contains("Authorization") })
    }

    @Test(arguments: ["http", "https"])
    func theLoadsDelegateAnswers(_ scheme: String) async throws {
        let guarded = try await GuardedProxy(isSecure: scheme == "https")
        let delegate = Delegate(.use(Self.ann))
        let request = LoadRequest(.get, try guarded.origin.url(scheme: scheme))
        #expect(try await guarded.session(delegate: delegate).data(for: request).head.status == .ok)
        let challenge = try #require(delegate.asked.withLock { $0.first })
        #expect(challenge.protectionSpace.kind == .proxy && challenge.protectionSpace.method == .basic)
        #expect(challenge.protectionSpace.origin == "http://localhost:\(guarded.squid.port)")
        #expect(challenge.protectionSpace.realm == "the proxy")
        #expect(challenge.failureResponse?.status == .proxyAuthenticationRequired)
    }

    @Test func aDefaultCredentialOfTheSpaceAnswers() async throws {
        let guarded = try await GuardedProxy(isSecure: true)
        let space = ProtectionSpace(
            origin: "http://localhost:\(guarded.squid.port)", realm: "the proxy", method: .basic, kind: .proxy)
        await guarded.app.credentials.setDefault(Self.ann, for: space)
        let request = LoadRequest(.get, try guarded.origin.url(scheme: "https"))
        #expect(try await guarded.session().data(for: request).head.status == .ok)
    }

    // MARK: Without a credential

    @Test func withoutACredentialTheProxysAnswerIsTheResult() async throws {
        let guarded = try await GuardedProxy(isSecure: false)
        let response = try await guarded.session().data(for: .init(.get, guarded.origin.url())).head
        #expect(response.status == .proxyAuthenticationRequired)
        #expect(guarded.origin.acceptedConnections == 0)
        #expect(guarded.squid.log.allSatisfy { $0.hasPrefix("407") })
    }

    @Test func withoutACredentialConnectFails() async throws {
        let guarded = try await GuardedProxy(isSecure: true)
        let error = await #expect(throws: LoadError(.proxyAuthenticationRequired, "")) {
            try await guarded.session().data(for: .init(.get, guarded.origin.url(scheme: "https")))
        }
        #expect(error?.step == .proxyConnect && error?.message.contains("localhost:\(guarded.squid.port)") == true)
    }

    @Test func aRefusedCredentialIsNotSentAgain() async throws {
        let guarded = try await GuardedProxy(isSecure: true)
        let delegate = Delegate(.use(Self.planted))
        let error = await #expect(throws: LoadError(.proxyAuthenticationRequired, "")) {
            try await guarded.session(Self.planted, delegate: delegate).data(
                for: .init(.get, guarded.origin.url(scheme: "https")))
        }
        #expect(delegate.asked.withLock { $0.map(\.previousFailureCount) } == [0, 1])
        // Squid sends its answer before it writes it to its log.
        let refusals = { guarded.squid.log.filter { $0.hasPrefix("407") }.count }
        #expect(try await eventually { refusals() >= 2 }, "\(guarded.squid.log)")
        #expect(refusals() == 2, "\(guarded.squid.log)")
        #expect(!"\(String(describing: error))".contains("planted"))
    }

    @Test func theAppCancels() async throws {
        let guarded = try await GuardedProxy(isSecure: true)
        await #expect(throws: LoadError(.authenticationCancelled, "")) {
            try await guarded.session(Self.ann, delegate: Delegate(.cancel)).data(
                for: .init(.get, guarded.origin.url(scheme: "https")))
        }
    }

    @Test func aBodyThatCanBeReadOnceOutlivesTheDemandToConnect() async throws {
        let guarded = try await GuardedProxy(isSecure: true)
        let body = RequestBody.once(length: 4) { try await $0.write(Array("body".utf8)) }
        let request = LoadRequest(.post, try guarded.origin.url(scheme: "https"), body: body)
        #expect(try await guarded.session(Self.ann).data(for: request).head.status == .ok)
    }

    // MARK: What a server must not get

    /// A server that asks as if it were the proxy is told nothing: neither through a tunnel, nor without a proxy.
    @Test(arguments: [true, false])
    func aServersDemandIsNoProxys(_ isProxied: Bool) async throws {
        let guarded = try await GuardedProxy(
            "HTTP/1.1 407 Me too\r\nProxy-Authenticate: Basic realm=\"trap\"\r\nContent-Length: 0\r\n\r\n",
            isSecure: true)
        let delegate = Delegate(.use(Self.planted))
        var configuration = try guarded.session(Self.ann).configuration
        if !isProxied { configuration.proxies.exceptions = [try ProxyException("127.0.0.1")] }
        var request = LoadRequest(.get, try guarded.origin.url(scheme: "https"))
        request.options.proxyCredential = isProxied ? Self.ann : Self.planted
        let session = guarded.app.loading.makeSession(configuration)
        let response = try await session.data(for: request, delegate: isProxied ? nil : delegate).head
        #expect(response.status == .proxyAuthenticationRequired)
        #expect(delegate.asked.withLock { $0.isEmpty })
        #expect(guarded.origin.heads.count == 1)
        #expect(guarded.origin.heads.allSatisfy { !$0.contains("Authorization") })
    }

    @Test func serverAndProxyAreToldApart() async throws {
        let guarded = try await GuardedProxy(
            "HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic realm=\"server\"\r\nContent-Length: 0\r\n\r\n", isSecure: false
        )
        var request = LoadRequest(.get, try guarded.origin.url())
        request.options.credential = Credential(user: "bob", password: Redacted("server"))
        let response = try await guarded.session(Self.ann).data(for: request).head
        #expect(response.status == .unauthorized)
        let heads = guarded.origin.heads
        #expect(heads.count == 2 && heads.last?.contains("Authorization: Basic Ym9iOnNlcnZlcg==") == true, "\(heads)")
        #expect(heads.allSatisfy { !$0.contains("Proxy-Authorization") })
    }
}
