package import Logging
internal import SallyportBase
package import SallyportCore
package import SallyportLoading
package import SallyportSecureStore

/// The jars of one instance: its own, and the named ones. Lock: a leaf.
package final class CookieJars: Sendable {
    /// The instance's own.
    package let main: CookieJar

    private let store: SecureStore
    private let gate: any AccessGate
    private let logger: Logger
    private let named = Lock<[String: CookieJar]>([:])

    package init(in store: SecureStore, gate: any AccessGate, logger: Logger) {
        self.store = store
        self.gate = gate
        self.logger = logger
        main = CookieJar(name: nil, in: store, gate: gate, logger: logger)
    }

    /// The jar of a name, the same each time.
    package func jar(named name: String) throws(CookieError) -> CookieJar {
        if let jar = named.withLock({ $0[name] }) { return jar }
        let jar = try CookieJar(name, in: store, gate: gate, logger: logger)
        return named.withLock { jars in
            if let jar = jars[name] { return jar }
            jars[name] = jar
            return jar
        }
    }

    private var all: [CookieJar] { [main] + named.withLock { Array($0.values) } }

    /// The stages of a session: one, or none where it has no jar.
    package func stages(
        of selection: CookieJarSelection, acceptPolicy: CookieAcceptPolicy, handlesCookies: Bool
    ) -> [any LoadStage] {
        func stage(_ jar: CookieJar) -> [any LoadStage] {
            [CookieStage(jar: jar, acceptPolicy: acceptPolicy, handlesCookies: handlesCookies)]
        }
        switch selection {
        case .none: return []
        case .instance: return stage(main)
        case .named(let name):
            do throws(CookieError) {
                return stage(try jar(named: name))
            } catch {
                return [RefusingStage(LoadError(.invalidConfiguration, error.message, underlying: error))]
            }
        }
    }

    // MARK: Withdrawal and end

    /// Drops what is in memory, at a lock and at a wipe.
    package func forget(isWiped: Bool) {
        for jar in all { jar.forget(isWiped: isWiped) }
    }

    /// Removes what a principal would send to servers where its credentials were cleared, from all jars of the store.
    package func credentialsCleared(_ cleared: [(principal: Principal, host: Host)]) {
        let isDone = all.allSatisfy { jar in
            cleared.allSatisfy { jar.removeNow(sentTo: $0.host, of: $0.principal) }
        }
        let names = (try? CookieStorage.names(in: store)) ?? []
        let known = named.withLock { Set($0.keys) }
        guard !isDone || !known.isSuperset(of: names) else { return }
        // Without a parent: clearing is a plain call, and jars that nobody has used are read from the store first.
        Task { await self.removeStored(cleared, from: names) }
    }

    private func removeStored(_ cleared: [(principal: Principal, host: Host)], from names: [String]) async {
        for name in names { _ = try? jar(named: name) }
        for jar in all {
            for (principal, host) in cleared {
                do throws(CookieError) {
                    try await jar.removeAll(sentTo: host, of: principal)
                } catch {
                    logger.warning("Cookies could not be removed.", metadata: ["error": "\(error)"])
                }
            }
        }
    }

    /// Writes what the store does not know yet. Idempotent.
    package func shutdown() async {
        for jar in all { await jar.shutdown() }
    }
}

/// Ends each load of a session whose jar cannot be.
private struct RefusingStage: LoadStage {
    let failure: LoadError

    init(_ failure: LoadError) { self.failure = failure }

    func load(
        _ request: LoadRequest, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse { throw failure }
}
