import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportWire

@testable import SallyportAuthToken

/// Answers as it is told, and keeps what it was asked.
final class TestTokenSource: TokenSource {
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
        /// Runs before the instance is named, whose key is read then.
        var beforeKey: @Sendable () -> Void = {}
    }

    let state = Lock(State())
    var asked: [AuthTokenAPI.Request] { state.withLock { $0.asked } }
    var instance: String? {
        let state = state.withLock { $0 }
        state.beforeKey()
        return state.instance
    }

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
