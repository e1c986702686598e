internal import Crypto
internal import Glibc
internal import SallyportBase
internal import SallyportWire

/// The gateway's published keys, kept and fetched again as needed: after 10 minutes, and for a key that is not known, at
/// most once in 10 s, by one task for all that wait.
///
/// While they cannot be fetched, the last ones count for a day. At most 10,000 tasks wait for a fetch; one more is told
/// `unavailable`.
public final class PublishedKeys: Sendable {
    private struct State {
        var cache = KeyCache()
        var isFetching = false
        var waiters: [UInt64: Waiter<Waiting>] = [:]
    }

    private enum Step {
        case done(Result<P256.Signing.PublicKey, AuthTokenVerificationError>)
        case fetch(otherwise: P256.Signing.PublicKey?)
        case wait
    }

    private enum Waiting {
        case over, full, cancelled
    }

    private let state = Lock(State())
    private let maximumWaiters: Int
    private let source: any AuthTokenKeySource
    let clock: @Sendable () -> Int64

    public convenience init(from source: any AuthTokenKeySource) {
        self.init(from: source, clock: WallClock.seconds)
    }

    /// - Parameter clock: Unix seconds.
    package init(
        from source: any AuthTokenKeySource, maximumWaiters: Int = 10_000, clock: @escaping @Sendable () -> Int64
    ) {
        self.source = source
        self.maximumWaiters = maximumWaiters
        self.clock = clock
    }

    /// How many tasks wait for a fetch of another.
    var waiting: Int { state.withLock { $0.waiters.count } }

    /// - Throws: `malformed` for a key that is not published; `unavailable` where the keys cannot be had; `cancelled`.
    func key(named id: String) async throws(AuthTokenVerificationError) -> P256.Signing.PublicKey {
        var hasFetched = false
        while true {
            switch step(for: id, hasFetched: hasFetched) {
            case .done(let result): return try result.get()
            case .wait: try await wait()
            case .fetch(let key):
                if let failure = await fetch() {
                    if let key { return key }
                    throw failure
                }
                hasFetched = true
            }
        }
    }

    private func step(for id: String, hasFetched: Bool) -> Step {
        let now = clock()
        return state.withLock { state in
            switch state.cache.decide(id, at: now) {
            case .key(let key): return .done(.success(key))
            case .unavailable: return .done(.failure(Self.unavailable()))
            case .fetch(let key) where !hasFetched:
                guard state.isFetching else {
                    state.isFetching = true
                    return .fetch(otherwise: key)
                }
                // Whoever has a key that counts need not wait for a newer one.
                return key.map { .done(.success($0)) } ?? .wait
            case .fetch(let key?): return .done(.success(key))
            case .unknown, .fetch:
                return .done(.failure(.init(.malformed, "The token's key is none of the published ones.")))
            }
        }
    }

    /// One try, for all that wait; nil where it went well.
    private func fetch() async -> AuthTokenVerificationError? {
        let result: Result<[String: P256.Signing.PublicKey], AuthTokenVerificationError>
        do {
            result = .success(try Self.ready(await source.fetchKeys()))
        } catch {
            result = .failure(Self.unavailable(error))
        }
        // A task that was cancelled says nothing of the source: the next may try at once.
        let isCancelled = Task.isCancelled
        let now = clock()
        let waiters = state.withLock { state in
            switch result {
            case .success(let keys): state.cache.received(keys, at: now)
            case .failure where isCancelled: break
            case .failure: state.cache.failed(at: now)
            }
            state.isFetching = false
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.resume(returning: .over) }
        guard case .failure(let failure) = result else { return nil }
        return isCancelled ? Self.cancelled() : failure
    }

    /// Until the fetch of another task is over, or this one is cancelled.
    private func wait() async throws(AuthTokenVerificationError) {
        let waiting = await state.wait(orCancelled: Waiting.cancelled) { [maximumWaiters] state, waiter in
            guard state.isFetching else { return .over }
            guard state.waiters.count < maximumWaiters else { return .full }
            state.waiters[waiter.number] = waiter
            return nil
        } leave: { state, number in
            state.waiters.removeValue(forKey: number)
        }
        switch waiting {
        case .over: return
        case .full: throw Self.unavailable()
        case .cancelled: throw Self.cancelled()
        }
    }

    private static func ready(_ document: [UInt8]) throws -> [String: P256.Signing.PublicKey] {
        var keys: [String: P256.Signing.PublicKey] = [:]
        for key in try JWKSet(parsing: document).keys {
            if let id = key.keyID { keys[id] = try key.publicKey() }
        }
        return keys
    }

    private static func cancelled() -> AuthTokenVerificationError { .init(.cancelled, "The task was cancelled.") }

    private static func unavailable(_ error: (any Error)? = nil) -> AuthTokenVerificationError {
        AuthTokenVerificationError(.unavailable, "The gateway's keys cannot be had.", underlying: error)
    }
}

/// The machine's clock.
enum WallClock {
    /// Unix seconds.
    static let seconds: @Sendable () -> Int64 = { Int64(time(nil)) }
}
