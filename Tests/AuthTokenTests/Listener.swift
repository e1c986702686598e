import Glibc
import SallyportBase

@testable import SallyportAuthToken

/// Keeps what it hears: a token's text, or the code of a failure.
final class Listener: AuthTokenDelegate {
    private let stream: AsyncStream<String>
    private let continuation: AsyncStream<String>.Continuation
    private let count = Lock(0)
    private let pause: UInt32
    /// How often it was called, and returned.
    var heard: Int { count.withLock { $0 } }

    /// - Parameter pause: how long a call blocks its caller, in microseconds.
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
