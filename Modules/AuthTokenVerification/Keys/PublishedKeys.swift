internal import Crypto
internal import Glibc
internal import SallyportBase
internal import SallyportWire

/// The gateway's published keys, kept and fetched again as needed: after 10 minutes, and for a key that is not known, at
/// most once in 10 s, by one task for all that wait.
///
/// While they cannot be fetched, the last ones count for a day. At most 10,000 tasks wait for a fetch; one more is told
/// `unavailable`.
public actor PublishedKeys {
    private enum Step {
        case done(Result<P256.Signing.PublicKey, AuthTokenVerificationError>)
        case fetch(otherwise: P256.Signing.PublicKey?)
        case wait
    }

    private var cache = KeyCache()
    private var isFetching = false
    /// The tasks that wait for a fetch of another task.
    private var waiters = TaskWaiters()
    private let maximumWaiters: Int
    private let source: any AuthTokenKeySource
    nonisolated let clock: @Sendable () -> Int64

    public init(from source: any AuthTokenKeySource) {
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
    var waiting: Int { waiters.count }

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
        switch cache.decide(id, at: clock()) {
        case .key(let key): return .done(.success(key))
        case .unavailable: return .done(.failure(Self.unavailable()))
        case .fetch(let key) where !hasFetched:
            guard isFetching else { return .fetch(otherwise: key) }
            // A task that has a key that counts need not wait for a newer one.
            return key.map { .done(.success($0)) } ?? .wait
        case .fetch(let key?): return .done(.success(key))
        case .unknown, .fetch:
            return .done(.failure(.init(.malformed, "The token's key is not among the published ones.")))
        }
    }

    /// One try, for all that wait; nil where it went well.
    private func fetch() async -> AuthTokenVerificationError? {
        isFetching = true
        let result: Result<[String: P256.Signing.PublicKey], AuthTokenVerificationError>
        do {
            result = .success(try Self.ready(await source.fetchKeys()))
        } catch {
            result = .failure(Self.unavailable(error))
        }
        // A task that was cancelled says nothing of the source: the next may try at once.
        let isCancelled = Task.isCancelled
        switch result {
        case .success(let keys): cache.received(keys, at: clock())
        case .failure where isCancelled: break
        case .failure: cache.failed(at: clock())
        }
        isFetching = false
        waiters.release()
        guard case .failure(let failure) = result else { return nil }
        return isCancelled ? Self.cancelled() : failure
    }

    /// Waits until the fetch of another task is over.
    ///
    /// - Throws: `unavailable` if too many tasks wait; `cancelled`.
    private func wait() async throws(AuthTokenVerificationError) {
        guard waiters.count < maximumWaiters else { throw Self.unavailable() }
        let (number, signal) = waiters.join()
        await signal.wait()
        guard waiters.wasReleased(number) else { throw Self.cancelled() }
    }

    private static func ready(_ document: [UInt8]) throws -> [String: P256.Signing.PublicKey] {
        var keys: [String: P256.Signing.PublicKey] = [:]
        for key in try JWKSet(parsing: document).keys {
            if let id = key.keyID { keys[id] = try key.publicKey() }
        }
        return keys
    }

    private static func cancelled() -> AuthTokenVerificationError {
        .init(.cancelled, "The task was cancelled.", underlying: CancellationError())
    }

    private static func unavailable(_ error: (any Error)? = nil) -> AuthTokenVerificationError {
        AuthTokenVerificationError(.unavailable, "The gateway's keys cannot be had.", underlying: error)
    }
}

/// The machine's clock.
enum WallClock {
    /// Unix seconds.
    static let seconds: @Sendable () -> Int64 = { Int64(time(nil)) }
}
