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
    private typealias Fetched = Result<[String: P256.Signing.PublicKey], AuthTokenVerificationError>

    /// How long a fetch may take before it is cancelled.
    package static let patience: Duration = .seconds(30)

    private var cache = KeyCache()
    private var fetching: Task<Void, Never>?
    /// Why the last fetch failed; nil if it went well.
    private var failure: AuthTokenVerificationError?
    /// The tasks that wait for the fetch.
    private var waiters = TaskWaiters()
    private let maximumWaiters: Int
    private let patience: Duration
    private let source: any AuthTokenKeySource
    nonisolated let clock: @Sendable () -> Int64

    /// Fetches nothing yet: the first token that is verified does. A fetch is cancelled after 30 s.
    ///
    /// - Parameter source: where the gateway's keys are fetched.
    public init(from source: any AuthTokenKeySource) {
        self.init(from: source, clock: WallClock.seconds)
    }

    /// - Parameter clock: Unix seconds.
    package init(
        from source: any AuthTokenKeySource, maximumWaiters: Int = 10_000,
        patience: Duration = PublishedKeys.patience, clock: @escaping @Sendable () -> Int64
    ) {
        self.source = source
        self.maximumWaiters = maximumWaiters
        self.patience = patience
        self.clock = clock
    }

    deinit { fetching?.cancel() }

    /// How many tasks wait for the fetch.
    var waiting: Int { waiters.count }

    /// - Throws: `malformed` for a key that is not published; `unavailable` where the keys cannot be had; `cancelled`.
    func key(named id: String) async throws(AuthTokenVerificationError) -> P256.Signing.PublicKey {
        let (known, isDue) = cache.look(for: id, at: clock())
        let isFirst = fetching == nil
        // Of the tasks that have a key that counts, only the first waits for a newer one.
        guard isDue, isFirst || !known.isKey else { return try key(known) }
        if isFirst { fetch() }
        try await wait()
        return try key(cache.look(for: id, at: clock()).known)
    }

    private func key(_ known: KeyCache.Known) throws(AuthTokenVerificationError) -> P256.Signing.PublicKey {
        switch known {
        case .key(let key): return key
        case .unknown: throw .init(.malformed, "The token's key is not among the published ones.")
        case .unavailable: throw failure ?? Self.unavailable()
        }
    }

    /// One try, for all that wait.
    ///
    /// Unstructured: if a task that waits made it, it would end when that task is cancelled, and say nothing of the
    /// source. The next task would ask at once, and a slow source would be asked for each. See Docs/Concurrency.md.
    private func fetch() {
        fetching = Task { [weak self, source, patience] in
            let fetched = await Self.fetched(from: source, within: patience)
            await self?.ended(fetched)
        }
    }

    private static func fetched(from source: any AuthTokenKeySource, within patience: Duration) async -> Fetched {
        let fetched = await untilDeadline(.now + patience) { () async -> Fetched in
            do {
                return .success(try Self.ready(await source.fetchKeys()))
            } catch {
                return .failure(Self.unavailable(error))
            }
        }
        return fetched ?? .failure(Self.unavailable())
    }

    private func ended(_ fetched: Fetched) {
        switch fetched {
        case .success(let keys):
            cache.received(keys, at: clock())
            failure = nil
        case .failure(let failure):
            cache.failed(at: clock())
            self.failure = failure
        }
        fetching = nil
        waiters.release()
    }

    /// Waits until the fetch is over.
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
