public import SallyportCore
internal import SallyportLoading
internal import SallyportWire

/// The last known configuration; reading it never fetches one.
///
/// Read it once and keep it; read it again after an update event.
public struct Configuration: Sendable, Hashable {
    private let document: ConfigurationDocument?

    init(_ document: ConfigurationDocument?) { self.document = document }

    /// Nil before the first configuration was fetched.
    public var application: ApplicationConfiguration? { document.map(ApplicationConfiguration.init) }

    /// The application's own policy as JSON text; nil before the first configuration was fetched.
    public var policy: String? {
        guard let policy = document?.policy, let bytes = try? WireJSON.encode(policy) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The versions of an application that the user is entitled to; empty for none.
    public func entitledVersions(of id: String) -> [String] {
        document?.entitlements.first { $0.id.description == id }?.versions.map(\.description) ?? []
    }

    /// Authentication schemes that may be used, in lower case.
    public var schemes: [String] { document?.schemes ?? [] }
    /// Kerberos realms whose KDCs the administrator lists.
    public var realms: [String] { document?.realms.map(\.name) ?? [] }
    /// The realm's KDCs, in the order in which they are tried; none if the realm is not listed. The case of the realm
    /// is ignored.
    public func kdcs(of realm: String) -> [Endpoint] {
        let realms = document?.realms ?? []
        let found = realms.first { $0.name == realm } ?? realms.first { $0.name.lowercased() == realm.lowercased() }
        return found?.kdcs ?? []
    }
    /// Increases with every change; nil before the first configuration was fetched.
    public var epoch: Int64? { document?.epoch }
    /// Until when it is valid without contact to the gateway, in Unix seconds.
    public var leaseEnd: Int64? { document?.leaseEnd }
}

/// The administrator's settings for this application and its user.
public struct ApplicationConfiguration: Sendable, Hashable {
    /// One of the application's own servers.
    public struct Server: Sendable, Hashable {
        /// The host: a name in lower case, internationalized names in A-labels, or an IP address.
        public let server: String
        /// The port, 1 to 65,535.
        public let port: UInt16
        /// Server 1 is tried first.
        public let priority: Int
    }

    /// The application's own servers, priority 1 first.
    public let servers: [Server]
    /// Free text of the administrator.
    public let config: String
    /// The id under which the gateway knows the user, at most 254 bytes.
    public let userID: String
    /// `user@realm`, if the user has one.
    public let userPrincipalName: String?
    /// The identifier of this installation: a UUID in lower case, as in ``Activation/instance``.
    public let instanceIdentifier: String
    /// Which TLS versions may be used.
    public let communicationProtocols: [TLSVersion: Bool]
    /// Whether the administrator asks the app for detailed logs. The app acts on it; this library's logs do not change.
    public let detailedLogsOn: Bool
    /// Whether the app's users are not to switch on detailed logs themselves. The app acts on it.
    public let preventUserDetailedLogs: Bool
    /// Further settings, as JSON text.
    public let extraInfo: String?

    init(_ document: ConfigurationDocument) {
        servers = document.servers.filter(\.isApplicationServer)
            .map { Server(server: $0.endpoint.host.description, port: $0.endpoint.port, priority: $0.priority) }
            .sorted { $0.priority < $1.priority }
        config = document.application.config
        userID = document.user.id
        userPrincipalName = document.user.principalName
        instanceIdentifier = document.aud.description
        let allowed = TLSVersions(Set(TLSVersion.allCases))
            .restricted(blocking: Set(document.tls.blocked), floor: document.tls.floor).allowed
        communicationProtocols = Dictionary(
            uniqueKeysWithValues: TLSVersion.allCases.map { ($0, allowed.contains($0)) })
        detailedLogsOn = document.application.detailedLogsOn
        preventUserDetailedLogs = document.application.preventUserDetailedLogs
        extraInfo = document.application.extraInfo
    }
}
