import SallyportCore
import SallyportSecureStore
import SessionTestSupport
import TestSupport

@testable import SallyportAuthToken

/// An app that asks for tokens, over a source that the test rules.
struct TokenApp: Sendable {
    let gate: StubGate
    let source = TestTokenSource()
    let tokens: AuthTokens
    private let store: TestStore

    static func with(_ body: @Sendable (TokenApp) async throws -> Void) async throws {
        let app = TokenApp(gate: try World().gate, store: try await TestStore())
        defer { app.store.close() }
        try await body(app)
        await app.tokens.shutdown()
    }

    private init(gate: StubGate, store: TestStore) {
        (self.gate, self.store) = (gate, store)
        tokens = AuthTokens(in: store.store, source: source, gate: gate) { 1000 }
    }

    var secureStore: SecureStore { store.store }

    func anotherTokens() -> AuthTokens { AuthTokens(in: store.store, source: source, gate: gate) { 1000 } }
}
