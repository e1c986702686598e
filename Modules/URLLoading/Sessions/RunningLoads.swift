internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading
internal import Synchronization

/// How many loads, tasks and streams of one session are under way, for whoever waits until there are none.
///
/// Two atomics and no actor: each load of the session counts, and none needs to know of another.
final class RunningLoads: Sendable {
    private let count = Atomic(0)
    private let isFinishing = Atomic(false)
    private let none = AwaitedValue<Result<Void, LoadError>>()

    /// One more; ``end()`` must follow.
    ///
    /// - Throws: `sessionInvalidated` once the session finishes.
    func begin() throws(LoadError) {
        beginWithin()
        guard isFinishing.load(ordering: .sequentiallyConsistent) else { return }
        end()
        throw LoadingEngine.invalidated()
    }

    /// One more, as a part of one that is under way.
    func beginWithin() { count.add(1, ordering: .sequentiallyConsistent) }

    func end() {
        let (_, rest) = count.subtract(1, ordering: .sequentiallyConsistent)
        if rest == 0, isFinishing.load(ordering: .sequentiallyConsistent) { none.set(.success(())) }
    }

    /// Takes no more, and waits until all have ended.
    ///
    /// - Throws: `cancelled`.
    func finish() async throws(LoadError) {
        isFinishing.store(true, ordering: .sequentiallyConsistent)
        if count.load(ordering: .sequentiallyConsistent) == 0 { none.set(.success(())) }
        try await none.result()
    }
}

/// A body whose load is under way until it was read to its end, broke or is no longer wanted.
final class RunningBody: BodySource {
    private let body: ResponseBody
    private let running: RunningLoads
    private let isOver = Atomic(false)

    init(_ body: ResponseBody, of running: RunningLoads) {
        self.body = body
        self.running = running
    }

    func next() async throws(LoadError) -> [UInt8]? {
        do throws(LoadError) {
            let chunk = try await body.next()
            if chunk == nil { ended() }
            return chunk
        } catch {
            ended()
            throw error
        }
    }

    func discard() {
        body.discard()
        ended()
    }

    var trailers: HTTPFields? { body.trailers }

    private func ended() { if !isOver.exchange(true, ordering: .relaxed) { running.end() } }
}
