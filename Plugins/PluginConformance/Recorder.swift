internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading
internal import SallyportURLLoading

/// Receives the answer of one load in place of a session, and observes how it is written.
final class Recorder: ResponseTarget {
    /// The reader's pace.
    enum Pace: Sendable {
        case eager
        /// A write waits until ``letGo()``.
        case stepped
    }

    /// The state of a load.
    struct Snapshot: Sendable {
        var head: HTTPResponse?
        var bytes: [UInt8] = []
        /// The head and each accepted write.
        var events = 0
        var isWaiting = false
        var isCancelled = false
        var ending: Ending?

        /// Whether status, fields and body equal those of another load; dates may differ.
        func isSameAnswer(as other: Snapshot) -> Bool {
            bytes == other.bytes && head?.status == other.head?.status
                && head?.headerFields[.contentType] == other.head?.headerFields[.contentType]
        }
    }

    private typealias Waiter = CheckedContinuation<Result<Void, LoadError>, Never>

    private struct State {
        var seen = Snapshot()
        var waiter: Waiter?
        var refusals = 0
        /// The rules with violations: a handler may violate one any number of times.
        var violated: Set<Rule> = []
        var cancel: (@Sendable () -> Void)?
    }

    let http: LoadChain
    private let state = Lock(State())
    private let pace: Pace
    /// The event after which the load is cancelled.
    private let cancelAfter: Int?
    private let limits: Limits
    private let sample: String
    private let ledger: Ledger

    /// The longest chunk and the longest answer, in bytes.
    struct Limits: Sendable {
        var chunk: Int
        var answer: Int
    }

    init(
        _ sample: String, pace: Pace, cancelAfter: Int?, limits: Limits, http: LoadChain, ledger: Ledger
    ) {
        self.sample = sample
        self.pace = pace
        self.cancelAfter = cancelAfter
        self.limits = limits
        self.http = http
        self.ledger = ledger
    }

    var seen: Snapshot { state.withLock { $0.seen } }

    private func note(_ rule: Rule, _ detail: String) {
        guard state.withLock({ $0.violated.insert(rule).inserted }) else { return }
        ledger.add(rule, sample, detail)
    }
}

// MARK: The handler's side

extension Recorder {
    func begin(_ head: HTTPResponse, url: RequestURL, facts: LoadFacts) throws(LoadError) {
        let (before, cancel) = state.withLock { state -> (Snapshot, (@Sendable () -> Void)?) in
            let before = state.seen
            guard before.head == nil, before.ending == nil, !before.isCancelled else { return (before, nil) }
            state.seen.head = head
            return (before, Self.counted(&state, cancelAfter))
        }
        if before.ending != nil { note(.silentAfterItsEnd, "The head was handed over after the handler had returned.") }
        if before.head != nil { note(.order, "The head was handed over twice.") }
        guard before.head == nil, before.ending == nil, !before.isCancelled else {
            throw LoadError(.handlerFailed, "A handler begins once, and before its load has ended.")
        }
        cancel?()
    }

    func write(_ bytes: [UInt8]) async throws(LoadError) {
        try check(bytes)
        guard !bytes.isEmpty else { return }
        if pace == .stepped { try await waitForReader() }
        let cancel = state.withLock { state in
            state.seen.bytes += bytes
            return Self.counted(&state, cancelAfter)
        }
        cancel?()
    }

    private func check(_ bytes: [UInt8]) throws(LoadError) {
        let (seen, refusals) = state.withLock { state in
            if state.seen.isCancelled { state.refusals += 1 }
            return (state.seen, state.refusals)
        }
        if seen.ending != nil {
            note(.silentAfterItsEnd, "The body was written after the handler had returned.")
            throw LoadError(.connectionLost, at: .request, "The load ended before its body.")
        }
        if seen.isCancelled {
            if refusals > 1 { note(.stopsWhenRefused, "The body was written again after a write was refused.") }
            throw LoadError(.cancelled, "The load was cancelled.")
        }
        if seen.head == nil {
            note(.order, "The body was written before the head.")
            throw LoadError(.handlerFailed, "A handler hands over the head before the body.")
        }
        if bytes.count > limits.chunk {
            note(.chunkSize, "A chunk has \(bytes.count) bytes, more than \(limits.chunk).")
        }
        if seen.bytes.count + bytes.count > limits.answer {
            note(.ends, "The answer is longer than \(limits.answer) bytes.")
            cancel()
            throw LoadError(.responseTooLarge, "The sample's answer is too long.")
        }
    }

    /// Counts an accepted event; returns the cancellation if the load must be cancelled now.
    private static func counted(_ state: inout State, _ cancelAfter: Int?) -> (@Sendable () -> Void)? {
        state.seen.events += 1
        guard state.seen.events == cancelAfter else { return nil }
        state.seen.isCancelled = true
        return state.cancel
    }

    private func waitForReader() async throws(LoadError) {
        let result = await withCheckedContinuation { (waiter: Waiter) in
            let refused = state.withLock { state -> Result<Void, LoadError>? in
                if state.seen.isCancelled { return .failure(LoadError(.cancelled, "The load was cancelled.")) }
                guard state.waiter == nil else {
                    return .failure(LoadError(.handlerFailed, "A body is written by one task at a time."))
                }
                state.waiter = waiter
                state.seen.isWaiting = true
                return nil
            }
            guard let refused else { return }
            if !seen.isCancelled { note(.backPressure, "The body was written while an earlier write waited for room.") }
            waiter.resume(returning: refused)
        }
        try result.get()
    }
}

// MARK: The reader's side

extension Recorder {
    /// - Parameter cancel: cancels the handler's task.
    func prepare(cancel: @escaping @Sendable () -> Void) { state.withLock { $0.cancel = cancel } }

    /// The handler has returned.
    func ended(_ ending: Ending) {
        let wasWaiting = state.withLock { state in
            state.seen.ending = ending
            state.cancel = nil
            return state.seen.isWaiting && !state.seen.isCancelled
        }
        if wasWaiting { note(.backPressure, "The handler returned while a write waited for room.") }
        letGo(.failure(LoadError(.connectionLost, at: .request, "The load ended before its body.")))
    }

    /// Accepts the waiting write.
    func letGo() { letGo(.success(())) }

    func cancel() {
        let cancel = state.withLock { state in
            state.seen.isCancelled = true
            return state.cancel
        }
        cancel?()
        letGo(.failure(LoadError(.cancelled, "The load was cancelled.")))
    }

    private func letGo(_ result: Result<Void, LoadError>) {
        let waiter = state.withLock { state in
            state.seen.isWaiting = false
            return state.waiter.take()
        }
        waiter?.resume(returning: result)
    }
}

/// How a handler returned.
enum Ending: Sendable {
    case whole
    case declined
    case cancelled
    case failed(LoadError)
    /// An error of another type, by the type's name.
    case untyped(String)

    init(_ error: any Error) {
        switch error {
        case let error as LoadError: self = error.code == .cancelled ? .cancelled : .failed(error)
        case is RequestDeclined: self = .declined
        case is CancellationError: self = .cancelled
        default: self = .untyped("\(type(of: error))")
        }
    }
}
