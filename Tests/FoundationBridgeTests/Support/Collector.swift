import Foundation
import FoundationNetworking
import SallyportBase
import TestSupport

/// A native delegate that keeps what it is told.
final class Collector: NSObject, URLSessionDataDelegate {
    struct State {
        var chunks: [Data] = []
        var bytes = 0
        var response: URLResponse?
        var isOver = false
        var error: (any Error)?
        var challenges = 0
        var redirects = 0
        var isAskedForABody = false
    }

    private let state = Lock(State())
    private let pause: Duration?
    private let stream: Data?
    private let answers: Int

    /// - Parameters:
    ///   - pause: how long each chunk is held.
    ///   - stream: the body that is given where one is asked for.
    ///   - answers: how often it is given, each time the same stream.
    init(pause: Duration? = nil, stream: Data? = nil, answers: Int = 1) {
        self.pause = pause
        self.stream = stream
        self.answers = answers
    }

    var seen: State { state.withLock { $0 } }
    var body: Data { Data(seen.chunks.joined()) }

    func end() async throws -> State {
        guard try await eventually(within: .seconds(20), { seen.isOver }) else { throw Unexpected("The task hangs.") }
        return seen
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        state.withLock { $0.response = response }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        if let pause { Thread.sleep(forTimeInterval: pause / .seconds(1)) }
        state.withLock { state in
            state.chunks.append(data)
            state.bytes += data.count
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        state.withLock { state in
            state.isOver = true
            state.error = error
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        state.withLock { $0.challenges += 1 }
        completionHandler(.useCredential, URLCredential(user: "user", password: "password", persistence: .none))
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) {
        state.withLock { $0.redirects += 1 }
        completionHandler(request)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping (InputStream?) -> Void
    ) {
        state.withLock { $0.isAskedForABody = true }
        let body = stream.map { InputStream(data: $0) }
        for _ in 0..<answers { completionHandler(body) }
    }
}
