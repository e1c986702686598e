internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading
internal import Synchronization

/// Counts the loads, tasks and streams of one session that are in progress, so that a task can wait until there are
/// none.
///
/// Two atomics and no actor: each load of the session counts itself, and none needs to know of another.
final class RunningLoads: Sendable {
    private let count = Atomic(0)
    private let isFinishing = Atomic(false)
    private let none = AwaitedValue<Result<Void, LoadError>>()

    /// Counts one more; ``end()`` must follow.
    ///
    /// - Throws: `sessionInvalidated` once the session is finishing.
    func begin() throws(LoadError) {
        beginWithin()
        guard isFinishing.load(ordering: .sequentiallyConsistent) else { return }
        end()
        throw LoadingEngine.invalidated()
    }

    /// Counts one more, as a part of one that is in progress.
    func beginWithin() { count.add(1, ordering: .sequentiallyConsistent) }

    func end() {
        let (_, rest) = count.subtract(1, ordering: .sequentiallyConsistent)
        if rest == 0, isFinishing.load(ordering: .sequentiallyConsistent) { none.set(.success(())) }
    }

    /// Refuses new ones, and waits until all have ended.
    ///
    /// - Throws: `cancelled`.
    func finish() async throws(LoadError) {
        isFinishing.store(true, ordering: .sequentiallyConsistent)
        if count.load(ordering: .sequentiallyConsistent) == 0 { none.set(.success(())) }
        try await none.result()
    }
}

/// A body whose load counts as in progress until the body was read to its end, broke or was given up.
///
/// After a withdrawal nothing of the body is read any more, even if its last byte has come and is only to be decoded.
final class RunningBody: BodySource {
    private let body: ResponseBody
    private let running: RunningLoads
    private let period: AccessPeriod
    private let isOver = Atomic(false)

    /// - Parameter period: the one in which the load began.
    init(_ body: ResponseBody, of running: RunningLoads, in period: AccessPeriod) {
        self.body = body
        self.running = running
        self.period = period
    }

    func next() async throws(LoadError) -> [UInt8]? {
        do throws(LoadError) {
            let chunk = try await body.next()
            try checkAccess()
            if chunk == nil { ended() }
            return chunk
        } catch {
            ended()
            throw error
        }
    }

    private func checkAccess() throws(LoadError) {
        do throws(LoadError) {
            try period.check()
        } catch {
            body.discard()
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
