import HTTPTypes
import SallyportBase
import SallyportCache
import SallyportCore
import SallyportLoading
import SallyportURLLoading
import SessionTestSupport
import TestSupport
import Testing

@testable import SallyportHTTPAuthentication

/// What a server vouches for by `auth-int`, in a session with a cache.
@Suite(.timeLimit(.minutes(1)))
struct DigestCacheTests {
    private let site: VouchingSite
    private let store: TestStore
    private let cache: SecureCache
    private let loading: URLLoadingSystem

    init() async throws {
        site = try VouchingSite()
        store = try await TestStore()
        let (cache, gate, credentials) = (
            SecureCache(store: store.store, gate: nil), StubGate(), CredentialStorage()
        )
        self.cache = cache
        loading = URLLoadingSystem(
            gate: gate,
            stages: { _ in
                [AuthenticationStage(credentials: credentials), CacheStage(cache: cache, gate: gate)]
            })
    }

    /// Loads, and waits until what is stored of the answer is stored.
    private func load() async throws -> Result<String, LoadError> {
        var request = LoadRequest(.get, try site.server.url())
        request.options.credential = Credential(user: "ann", password: Redacted("secret"))
        let result: Result<String, LoadError>
        do throws(LoadError) {
            result = .success(String(decoding: try await loading.session.data(for: request).body, as: UTF8.self))
        } catch {
            result = .failure(error)
        }
        await cache.settle()
        return result
    }

    private func failure() async throws -> LoadError.Code? {
        guard case .failure(let error) = try await load() else { return nil }
        return error.code
    }

    @Test func aBodyThatTheServerDidNotVouchForIsNotStored() async throws {
        site.change { $0.body = "forged" }
        #expect(try await failure() == .serverNotAuthenticated)
        #expect(cache.statistics.entries == 0)
        site.change { $0.body = "body" }
        #expect(try await load().get() == "body")
        #expect(cache.statistics.entries == 1)
        await loading.shutdown()
    }

    /// It would be completed by what the server does vouch for.
    @Test func aPartOfABodyIsNotKeptWithoutItsProof() async throws {
        site.change { ($0.body, $0.isCut) = ("forged", true) }
        #expect(try await failure() == .connectionLost)
        #expect(cache.statistics.entries == 0)
        await loading.shutdown()
    }

    @Test("RFC 7616 §3.5: the proof of a 304 covers its own body, which is empty")
    func aStoredBodyIsNotTheOneThatAConfirmationCovers() async throws {
        for _ in 0..<2 { #expect(try await load().get() == "body") }
        #expect(site.confirmations == 1)
        await loading.shutdown()
    }

    @Test func aConfirmationWithAWrongProofIsAnError() async throws {
        #expect(try await load().get() == "body")
        site.change { $0.vouchedWithout = "body" }
        #expect(try await failure() == .serverNotAuthenticated)
        #expect(site.confirmations == 1)
        await loading.shutdown()
    }
}

/// A server with Digest and one page, which a cache asks about before each use.
private final class VouchingSite: Sendable {
    struct Page: Sendable {
        var body = "body"
        /// What `rspauth` covers.
        var vouched = "body"
        /// The same, in an answer without a body.
        var vouchedWithout = ""
        /// Whether the connection ends before the body.
        var isCut = false
    }

    private struct State {
        var page = Page()
        var confirmations = 0
    }

    let server: TestServer
    private let state: Lock<State>

    init() throws {
        let state = Lock(State())
        self.state = state
        server = try TestServer { connection in
            while let head = connection.readHead() {
                let isAsked = VouchingSite.value(of: "if-none-match", in: head) != nil
                let page = state.withLock { state in
                    if isAsked { state.confirmations += 1 }
                    return state.page
                }
                connection.write(VouchingSite.answer(to: head, page, isConfirmed: isAsked))
                if page.isCut, VouchingSite.value(of: "authorization", in: head) != nil { return }
            }
        }
    }

    /// How many answers were 304.
    var confirmations: Int { state.withLock { $0.confirmations } }

    func change(_ change: (inout Page) -> Void) { state.withLock { change(&$0.page) } }

    private static func value(of name: String, in head: String) -> String? {
        let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("\(name): ") }
        return line.map { String($0.dropFirst(name.count + 2)) }
    }

    private static func answer(to head: String, _ page: Page, isConfirmed: Bool) -> String {
        guard let field = value(of: "authorization", in: head), let said = ChallengeParser.parse([field]).first else {
            return "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nWWW-Authenticate: Digest realm=\"r\", "
                + "nonce=\"n\", qop=\"auth-int\", algorithm=SHA-256\r\n\r\n"
        }
        let info = proof(said.parameters, of: isConfirmed ? page.vouchedWithout : page.vouched)
        let fields = "Cache-Control: no-cache\r\nETag: \"1\"\r\nAuthentication-Info: \(info)\r\n"
        guard !isConfirmed else { return "HTTP/1.1 304 Not Modified\r\n\(fields)\r\n" }
        let length = page.body.utf8.count + (page.isCut ? 1 : 0)
        return "HTTP/1.1 200 OK\r\n\(fields)Content-Length: \(length)\r\n\r\n\(page.body)"
    }

    private static func proof(_ said: [String: String], of body: String) -> String {
        let key = DigestServer.key("SHA-256", "ann", "secret", said)
        let proof = DigestServer.response(
            "SHA-256", key: key, said, method: "", qop: "auth-int", body: Array(body.utf8))
        return "rspauth=\"\(proof)\", cnonce=\"\(said["cnonce"] ?? "")\", nc=\(said["nc"] ?? ""), qop=auth-int"
    }
}
