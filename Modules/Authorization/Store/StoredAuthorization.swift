public import SallyportCore
public import SallyportSecureStore
internal import SallyportWire

/// A store's authorization, read without a connection and without changing anything.
public struct StoredAuthorization: Sendable {
    /// `notAuthorized` if it is not activated or there is no configuration yet; otherwise the result of the last
    /// configuration and the clock.
    public let state: AuthorizationState
    /// The number of the stored configuration, which increases with each that is signed for the instance; nil if there
    /// is none.
    public let epoch: Int64?
    /// Unix seconds.
    public let leaseEnd: Int64?
    /// The identifier of the installation, a UUID in lower case; nil if the store is not activated.
    public let instance: String?
    /// The entitlement id of the application for which the store is activated; nil if it is not.
    public let entitlement: String?
    /// The app's version by which the stored configuration was made; before there is one, the version asked for at
    /// activation, or nil.
    public let version: String?
    /// The user's name in the activation link; nil if the store is not activated.
    public let user: String?
    /// `HOST:PORT`.
    public let gateway: String?
    /// How the gateway is reached; nil if the store is not activated.
    package let contact: StoredContact?
    /// Whether the store has the key of an unfinished activation, for the next try with the same link.
    package let hasPendingEnrollment: Bool
    private let document: ConfigurationDocument?

    /// Why the app is not authorized.
    public var code: ResultCode { state.code }

    /// Reads a store, which may be open read-only beside a running app.
    ///
    /// - Throws: ``AuthorizationError/Code/store``.
    public static func read(from store: SecureStore) throws(AuthorizationError) -> StoredAuthorization {
        try read(from: store, clock: SystemClock())
    }

    package static func read(
        from store: SecureStore, clock: any AuthorizationClock
    ) throws(AuthorizationError) -> StoredAuthorization {
        try StoredAuthorization(AuthorizationRecords(store).contents(), clock: clock)
    }

    init(_ contents: AuthorizationRecords.Contents, clock: any AuthorizationClock) {
        document = contents.document
        let mark = contents.mark ?? TimeMark(time: 0, uptime: clock.uptime)
        let time = mark.leaseTime(wall: clock.wall, uptime: clock.uptime)
        state = document.map { Verdict.state(of: $0, decisions: contents.decisions, at: time) } ?? .notAuthorized
        epoch = document?.epoch
        leaseEnd = document?.leaseEnd
        instance = contents.identity?.name.instance.description
        entitlement = contents.identity?.name.entitlement.description
        version = contents.decisions.version(under: document)
        user = contents.identity?.user
        gateway = contents.identity?.gateway
        contact = StoredContact(contents)
        hasPendingEnrollment = contents.hasPendingEnrollment
    }

    /// Says how a URL would be reached.
    ///
    /// - Throws: `AddressError` if the text is not an `http` or `https` URL; `AccessDenied` if there is no
    ///   configuration.
    public func explain(_ url: String) throws -> Explanation {
        guard let document else { throw AccessDenied(.notAuthorized) }
        return try document.explain(url)
    }
}
