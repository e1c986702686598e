import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import Synchronization

@testable import SallyportConnecting
@testable import SallyportTransport
@testable import SallyportURLLoading

/// An answer that a stub gives.
struct StubAnswer: Sendable {
    var status: HTTPResponse.Status = .ok
    var fields: HTTPFields = [:]
    var chunks: [[UInt8]] = []
    /// What ends the body; nil is its proper end.
    var failure: LoadError?
    /// Keeps the body open behind its chunks.
    var staysOpen = false

    static func redirect(_ status: Int, to location: String) -> StubAnswer {
        StubAnswer(status: .init(code: status), fields: [.location: location])
    }

    static func text(_ text: String) -> StubAnswer { StubAnswer(chunks: [Array(text.utf8)]) }
}

/// Stands in for the transport: records what it was asked, answers from a script, opens no socket.
final class StubClient: ExchangeClient {
    struct Exchange: Sendable {
        let request: ExchangeRequest
        let path: ConnectionPath
    }

    private struct State {
        var exchanges: [Exchange] = []
        var bodies: [(pipe: BodyPipe, path: ConnectionPath)] = []
        var closed = 0
        var isShutDown = false
    }

    private let state = Lock(State())
    /// Apart, since the bodies hold it.
    private let discarded = Lock(0)
    private let answer: @Sendable (ExchangeRequest) async throws(LoadError) -> StubAnswer

    init(_ answer: @escaping @Sendable (ExchangeRequest) async throws(LoadError) -> StubAnswer) { self.answer = answer }

    /// Answers in the order of the list; the last one again and again.
    convenience init(_ answers: [StubAnswer]) {
        let position = Atomic(0)
        self.init { _ throws(LoadError) in
            let index = position.add(1, ordering: .relaxed).oldValue
            return answers[min(index, answers.count - 1)]
        }
    }

    package func exchange(
        _ request: ExchangeRequest, via path: ConnectionPath
    ) async throws(LoadError) -> ExchangeResponse {
        state.withLock { $0.exchanges.append(Exchange(request: request, path: path)) }
        let answer = try await answer(request)
        request.reporter?(ExchangeReport())
        let hooks = BodyPipe.Hooks(wasDiscarded: { [discarded] in discarded.withLock { $0 += 1 } })
        let pipe = BodyPipe(watermarks: .init(low: 1 << 30, high: 1 << 30), hooks: hooks)
        for chunk in answer.chunks { _ = pipe.push(chunk) }
        if !answer.staysOpen { pipe.finish(answer.failure) }
        state.withLock { $0.bodies.append((pipe, path)) }
        let head = HTTPResponse(status: answer.status, headerFields: answer.fields)
        return ExchangeResponse(head: head, body: ResponseBody(pipe), facts: HopFacts(url: request.url))
    }

    package func tunnel(_ request: TunnelRequest, via path: ConnectionPath) async throws(LoadError) -> Tunnel {
        throw LoadError(.cannotConnect, at: .connect, "A stub opens no tunnel.")
    }

    package func endExchanges(
        with failure: LoadError, where isAffected: @escaping @Sendable (ConnectionPath) -> Bool
    ) {
        let bodies = state.withLock { state in state.bodies.filter { isAffected($0.path) }.map(\.pipe) }
        for body in bodies { body.finish(failure) }
    }

    package func closeConnections(where isAffected: @escaping @Sendable (ConnectionPath) -> Bool) {
        state.withLock { $0.closed += 1 }
    }

    package func follow(_ change: AccessChange, of gate: any AccessGate) {
        guard let denied = change.ending else { return }
        endExchanges(with: LoadError(denied)) { _ in true }
        closeConnections { _ in true }
    }

    package func shutdown() async { state.withLock { $0.isShutDown = true } }

    var exchanges: [Exchange] { state.withLock { $0.exchanges } }
    var requests: [ExchangeRequest] { exchanges.map(\.request) }
    var urls: [String] { requests.map { "\($0.url)" } }
    var discards: Int { discarded.withLock { $0 } }
    var isShutDown: Bool { state.withLock { $0.isShutDown } }
}
