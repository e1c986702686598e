import Glibc
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportSecureStore
import SallyportWire
import TestSupport

@testable import SallyportAuthToken

/// Tokens over a store of their own, a gate and a source that the test rules.
struct World: Sendable {
    let store: SecureStore
    let source = Source()
    let gate = TokenGate()
    let tokens: AuthTokens
    private let folder: TemporaryDirectory

    static func with(_ body: @Sendable (World) async throws -> Void) async throws {
        let folder = try TemporaryDirectory()
        let store = try await SecureStore.open(at: folder.file("store"), protectedBy: .keyFile(folder.file("key")))
        defer { store.close() }
        let world = World(store, folder)
        try await body(world)
        await world.tokens.shutdown()
    }

    private init(_ store: SecureStore, _ folder: TemporaryDirectory) {
        (self.store, self.folder) = (store, folder)
        tokens = AuthTokens(in: store, source: source, gate: gate) { 1000 }
    }

    func anotherTokens() -> AuthTokens { AuthTokens(in: store, source: source, gate: gate) { 1000 } }
}

/// Answers as it is told, and keeps what it was asked.
final class Source: TokenSource {
    struct State: Sendable {
        var asked: [AuthTokenAPI.Request] = []
        var instance: String? = "one"
        var status = 200
        var body = Array(#"{"token":"T","expires":7}"#.utf8)
        var failure: LoadError?
        /// Whether no answer comes until the task is cancelled.
        var isHeld = false
        /// Runs before the answer.
        var meanwhile: @Sendable () -> Void = {}
    }

    let state = Lock(State())
    var asked: [AuthTokenAPI.Request] { state.withLock { $0.asked } }
    var instance: String? { state.withLock { $0.instance } }

    func token(for request: AuthTokenAPI.Request) async throws(LoadError) -> TokenAnswer {
        let state = state.withLock { state in
            state.asked.append(request)
            return state
        }
        if state.isHeld {
            do { try await Task.sleep(for: .seconds(30)) } catch { throw .cancelled() }
        }
        if let failure = state.failure { throw failure }
        state.meanwhile()
        return TokenAnswer(status: state.status, body: state.body)
    }
}

/// Open, until it is told otherwise.
final class TokenGate: AccessGate {
    let denied = Lock<AccessDenied?>(nil)

    func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
        try checkAuthorized()
        throw AccessDenied(.notAuthorized)
    }

    func checkAuthorized() throws(AccessDenied) {
        if let denied = denied.withLock({ $0 }) { throw denied }
    }

    func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
        AccessObservation()
    }
}

/// Keeps what it hears: a token's text, or the code of a failure.
final class Listener: AuthTokenDelegate {
    private let stream: AsyncStream<String>
    private let continuation: AsyncStream<String>.Continuation
    private let count = Lock(0)
    private let pause: UInt32
    /// How often it was called, and returned.
    var heard: Int { count.withLock { $0 } }

    /// - Parameter pause: for how many microseconds it keeps whoever calls it.
    init(pause: UInt32 = 0) {
        self.pause = pause
        (stream, continuation) = AsyncStream.makeStream()
    }

    func authTokens(_ tokens: AuthTokens, didIssue token: AuthToken) { hear(token.text.reveal()) }
    func authTokens(_ tokens: AuthTokens, didFailWith error: AuthTokenError) { hear("\(error.code)") }

    private func hear(_ text: String) {
        continuation.yield(text)
        if pause > 0 { usleep(pause) }
        count.withLock { $0 += 1 }
    }

    func next() async -> String? { await stream.first { _ in true } }
}
