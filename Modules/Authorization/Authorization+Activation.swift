internal import Logging
internal import SallyportBase
internal import SallyportCore
internal import SallyportSecureStore
internal import SallyportWire

/// The result of an activation.
public struct Activation: Sendable, Hashable {
    /// The identifier that the gateway gave this installation: a UUID (RFC 9562) in lower case.
    public let instance: String
    /// The application for which the store is activated: its entitlement id, such as `com.example.report`.
    public let entitlement: String
    /// Nil if the gateway could not be reached again after the certificate was issued.
    public let version: String?
    /// The user's name in the activation link.
    public let user: String
    /// The state after the first authorization: ``AuthorizationState/authorized``, or another one if no configuration
    /// could be fetched yet; then ``Authorization/authorize()`` fetches it later.
    public let state: AuthorizationState
}

extension Authorization {
    /// Activates the app with a link and authorizes it.
    ///
    /// An interrupted activation is continued with the same link and the key that the store kept. Cancelling the task
    /// stops it.
    ///
    /// - Parameters:
    ///   - text: `sallyport://HOST:PORT/?ca=…&user=…&key=…`, at most 2,048 bytes.
    ///   - version: The app's version, if no ``ApplicationIdentity`` names it; if nil, the highest entitled one.
    ///   - waits: whether a gateway that is unreachable, or says that it is not ready, is tried without limit, instead of
    ///     within 30 s, 3 times if it is unreachable.
    /// - Throws: ``AuthorizationError``: -101 if the link is invalid; `invalidApplication` if the version is;
    ///   `alreadyActivated`, also while another call goes on; -601, -602 or -603 if the gateway cannot be reached, refuses
    ///   the link, or the exchange with it fails; -600 if the certificate request could not be made; -102 if the gateway
    ///   took the request and issued no certificate that counts; -105 if the user is not entitled to the version; -606 if
    ///   the link is for another app; -100 if the store failed; `cancelled`. Once the store is activated, the errors of
    ///   ``authorize()`` except `unreachable` and `communicationFailed`: then only that is to be called again.
    @discardableResult
    public func activate(
        link text: String, version: String? = nil, waits: Bool = false
    ) async throws(AuthorizationError) -> Activation {
        let link = try Self.link(text)
        let told = try version.map { text throws(AuthorizationError) in try ApplicationIdentity.version(text) }
        guard !isActivating else {
            throw AuthorizationError(.alreadyActivated, "The store is being activated.")
        }
        if let identity, clock.wall <= identity.notAfter + IdentityRecord.renewalGrace {
            throw AuthorizationError(.alreadyActivated, "The store is activated as \(identity.name).")
        }
        isActivating = true
        defer { isActivating = false }
        let before = state
        setState(.authorizing(.contactingGateway))
        do {
            try await enroll(link, version: told, waits: waits)
        } catch {
            setState(before)
            throw error
        }
        return try await firstAuthorization()
    }

    private static func link(_ text: String) throws(AuthorizationError) -> ActivationLink {
        do {
            return try ActivationLink(text)
        } catch {
            throw AuthorizationError(.invalidLink, .activationFailed, error.message, underlying: error)
        }
    }

    private func enroll(
        _ link: ActivationLink, version: EntitlementVersion?, waits: Bool
    ) async throws(AuthorizationError) {
        let enrollment = Enrollment(client: client, clock: clock)
        var tries = ActivationTries(waits: waits, since: clock.uptime)
        let authority = try await retried(&tries) { () async throws(AuthorizationError) -> [UInt8] in
            try await enrollment.authority(for: link)
        }
        setState(.authorizing(.enrolling))
        let purpose = "\(link) \(Base64URL.encode(link.authorityFingerprint))"
        let key = try await records.enrollmentKey(for: purpose)
        let wanted = application?.entitledVersion ?? version
        let record = try await retried(&tries) { () async throws(AuthorizationError) -> IdentityRecord in
            try await enrollment.enroll(
                link, as: application?.entitlement, wanted, authority: authority, key: key)
        }
        // A gateway of an earlier version does not look at the request's app, and has used the link up.
        if let application, application.entitlement != record.name.entitlement {
            throw AuthorizationError(
                .wrongApplication, .appIntegrityFailed, "The link is for \(record.name.entitlement).")
        }
        decisions = LocalDecisions(version: wanted?.description)
        try await storeDecisions().get()
        try await records.finishEnrollment(record, dropsConfiguration: true)
        identity = record
        (document, unstored, told) = (nil, nil, nil)
        mayOpen = false
        published.withLock { $0.document = nil }
    }

    /// Tries again if the request cannot have reached the gateway; a request that may have reached it is not repeated. A
    /// gateway that was not ready has been waited for; it is tried again only if it is to be tried without limit.
    private func retried<Result: Sendable>(
        _ tries: inout ActivationTries, _ attempt: @Sendable () async throws(AuthorizationError) -> Result
    ) async throws(AuthorizationError) -> Result {
        while true {
            do {
                return try await attempt()
            } catch {
                let backoff = Backoff.activation(after: tries.count, using: &random)
                guard let wait = tries.wait(after: error, backoff: backoff, at: clock.uptime) else { throw error }
                try await pause(wait)
            }
        }
    }

    /// The activation is valid even if the configuration cannot be fetched now: `authorize()` fetches it later.
    private func firstAuthorization() async throws(AuthorizationError) -> Activation {
        guard let identity else { throw AuthorizationError(.notActivated, "Not activated.") }
        do {
            try await authorize()
        } catch  where error.code == .unreachable || error.code == .communicationFailed {
            logger.debug("activated, but no configuration could be fetched yet", metadata: ["error": "\(error)"])
        }
        return Activation(
            instance: identity.name.instance.description, entitlement: identity.name.entitlement.description,
            version: decisions.version, user: identity.user, state: state)
    }

    func pause(_ duration: Duration) async throws(AuthorizationError) {
        do {
            try await clock.sleep(for: duration)
        } catch {
            throw .cancelled()
        }
    }
}

/// How often and how long an activation tries to reach its gateway, all its requests together.
struct ActivationTries {
    private static let limit = 3
    /// In seconds: all tries are over after 30 s, of which the last may take 10 to connect.
    private static let lastBegin: Int64 = 20

    /// Whether the gateway is tried without limit.
    let waits: Bool
    /// The uptime at its beginning, in seconds.
    private let start: Int64
    /// The number of the present try.
    private(set) var count = 1

    init(waits: Bool, since start: Int64) { (self.waits, self.start) = (waits, start) }

    /// How long to wait before the next try, which it counts; nil if there is none.
    mutating func wait(after error: AuthorizationError, backoff: Duration, at uptime: Int64) -> Duration? {
        let pause: Duration
        if let refusal = error.underlying as? NotReady {
            guard waits else { return nil }
            pause = refusal.wait ?? backoff
        } else {
            let isInTime = count < Self.limit && uptime - start + backoff.components.seconds <= Self.lastBegin
            guard error.code == .unreachable, waits || isInTime else { return nil }
            pause = backoff
        }
        count += 1
        return pause
    }
}
