internal import HTTPTypes
public import Logging
internal import SallyportBase
public import SallyportCore
public import SallyportLoading
public import SallyportSecureStore

/// The jars of one instance: its default jar, and the named ones.
public actor CookieJars: InstancePart {
    /// The instance's default jar.
    public nonisolated let main: CookieJar

    private nonisolated let store: SecureStore
    private nonisolated let gate: any AccessGate
    private nonisolated let logger: Logger
    private var named: [CookieJarSelection: CookieJar] = [:]

    /// - Parameters:
    ///   - store: stores the persistent cookies where the app's own calls cannot reach them.
    ///   - gate: asked before the store is used.
    ///   - logger: for cookies that are refused, damaged or cannot be stored; no message has a value.
    public init(
        in store: SecureStore, gate: any AccessGate, logger: Logger = Logger(label: "sallyport.cookies")
    ) {
        self.store = store
        self.gate = gate
        self.logger = logger
        main = CookieJar(name: nil, in: store, gate: gate, logger: logger)
    }

    /// The jar with this name, the same object each time; it is created with its first cookie. Names of the same bytes
    /// in UTF-8 are one jar.
    ///
    /// - Throws: `invalidName` for a name that is empty or has more than `CookieJar.maximumNameLength` bytes.
    public func jar(named name: String) throws(CookieError) -> CookieJar {
        if let jar = named[.named(name)] { return jar }
        let jar = try CookieJar(name, in: store, gate: gate, logger: logger)
        named[.named(name)] = jar
        return jar
    }

    private var all: [CookieJar] { [main] + named.values }

    /// The stages of a session: one, or none if it has no jar. They stand below the stages that answer challenges and
    /// above the cache. The parameters are those of `SessionConfiguration`.
    public nonisolated func stages(
        of selection: CookieJarSelection, acceptPolicy: CookieAcceptPolicy = .onlyFromMainDocument,
        handlesCookies: Bool = true
    ) -> [any LoadStage] {
        switch selection {
        case .none: []
        case .instance: [CookieStage(jar: main, acceptPolicy: acceptPolicy, handlesCookies: handlesCookies)]
        case .named(let name):
            [NamedJarStage(jars: self, name: name, acceptPolicy: acceptPolicy, handlesCookies: handlesCookies)]
        }
    }

    // MARK: Withdrawal and end

    /// Clears the memory.
    public func withdrawn(_ change: AccessChange) {
        for jar in all { jar.forget(isWiped: change.destroysData) }
    }

    /// Writes everything that the store does not have yet. Idempotent.
    public func shutdown() async {
        for jar in all { await jar.shutdown() }
    }
}

extension CookieJars: CredentialFollower {
    /// When credentials are cleared, removes from all jars of the store the cookies that their principals would send to
    /// those servers.
    ///
    /// - Throws: ``CookieError``, which is also logged, if a jar could not be read or written; those of the other jars
    ///   are removed.
    public func credentialsCleared(for method: AuthenticationMethod?, at places: [CredentialPlace]) async throws {
        var cleared: [Principal: Set<Host>] = [:]
        for place in places {
            guard let host = (try? RequestURL(place.origin))?.endpoint?.host else { continue }
            cleared[place.principal, default: []].insert(host)
        }
        guard !cleared.isEmpty else { return }
        var failure = takeUpStoredJars()
        // Even while the store may not be read: cookies in memory are removed at once, and others are never sent.
        for jar in all { jar.removeNow(sentTo: cleared) }
        for jar in all {
            do throws(CookieError) {
                try await jar.removeAll(sentTo: cleared)
            } catch {
                failure = error
            }
        }
        guard let failure else { return }
        logger.warning("Cookies could not be removed.", metadata: ["error": "\(failure)"])
        throw failure
    }

    /// Opens the jars of the store, so that those which only an earlier process has used are there too.
    ///
    /// - Returns: why the jars could not be found; nil if they were.
    private func takeUpStoredJars() -> CookieError? {
        do {
            for name in try CookieStorage.names(in: store) { _ = try jar(named: name) }
            return nil
        } catch {
            return CookieError(.store, "The names of the jars cannot be read.", underlying: error)
        }
    }
}

/// The stage of a session that names its jar. The jar is looked up with each load, since jars are created on first use.
private struct NamedJarStage: SentFieldsStage {
    let jars: CookieJars
    let name: String
    let acceptPolicy: CookieAcceptPolicy
    let handlesCookies: Bool

    func load(
        _ request: LoadRequest, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        try await stage().load(request, in: context, next: next)
    }

    func explain(
        _ request: inout LoadRequest, in context: LoadContext, into explanation: inout LoadExplanation
    ) async {
        do throws(LoadError) {
            let stage = try await stage()
            await stage.explain(&request, in: context, into: &explanation)
        } catch {
            explanation.refused(error)
        }
    }

    func heard(_ fields: HTTPFields, answering request: LoadRequest, in context: LoadContext) async -> LoadRequest {
        // A name that no jar can have was refused when the load began.
        let stage = try? await stage()
        return await stage?.heard(fields, answering: request, in: context) ?? request
    }

    private func stage() async throws(LoadError) -> CookieStage {
        do throws(CookieError) {
            let jar = try await jars.jar(named: name)
            return CookieStage(jar: jar, acceptPolicy: acceptPolicy, handlesCookies: handlesCookies)
        } catch {
            throw LoadError(.invalidConfiguration, error.message, underlying: error)
        }
    }
}
