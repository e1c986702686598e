public import FoundationEssentials
public import SallyportCore

/// Administration in this process. Each call is one transaction, durable when it returns, and applies from then on to
/// new connections and open ones; running instances are told within seconds. If a fleet's database goes away just after
/// the transaction, it applies once the gateway can read it again.
///
/// All throw ``GatewayError``: `invalid` for an invalid value, `notFound` and `exists`, `ended` after ``shutdown()``,
/// `cancelled`, and `store` if the data folder failed; then nothing was changed.
extension Gateway {
    /// Adds a user, without any rights.
    ///
    /// - Parameter user: usually an address: 1 to 254 bytes, no control characters, no colon, no space at either end.
    public func addUser(_ user: String) async throws(GatewayError) { try await done(.addUser(user)) }

    /// Removes a user, whose instances are wiped.
    ///
    /// - Parameters:
    ///   - user: the user's id.
    ///   - endingInstances: confirms that the user's instances are wiped; without it, `needsConfirmation` names them.
    public func removeUser(_ user: String, endingInstances: Bool = false) async throws(GatewayError) {
        try await done(.removeUser(user, confirmed: endingInstances))
    }

    /// Adds a version of an application.
    ///
    /// - Parameters:
    ///   - entitlement: its identifier, such as `com.example.report`.
    ///   - version: 1 to 4 numbers of up to 3 digits, such as `1.0.0.0`.
    public func addApplication(_ entitlement: String, version: String) async throws(GatewayError) {
        try await done(.addApplication(entitlement: entitlement, version: version))
    }

    /// Lets a user activate a version of an application. The version must have been added before.
    public func entitle(_ user: String, to entitlement: String, version: String) async throws(GatewayError) {
        try await done(.entitle(user: user, entitlement: entitlement, version: version))
    }

    /// Makes an activation link, which activates one instance, once, within 24 hours.
    ///
    /// The link names the port on which the gateway listens, or listened last: call this once it listens. The link
    /// contains an access key: treat it like a password, and keep it out of logs.
    public func invite(_ user: String, to entitlement: String) async throws(GatewayError) -> String {
        let reply = try await perform(.issueKey(user: user, entitlement: entitlement))
        guard case .link(let link) = reply else { throw Self.unexpected(reply) }
        return link
    }

    /// Adds a server that apps may reach.
    ///
    /// - Parameters:
    ///   - server: the host, as apps name it, and the port.
    ///   - entitlement: the application to which the server belongs, and which is told of it; nil for a server of all
    ///     applications.
    ///   - priority: the order among an application's servers, 1 to 1000; 1 is tried first.
    ///   - route: how apps reach it: through the relay, directly, or not at all.
    ///   - secondary: the cluster that is used while no relay of the route's can be reached; nil for none.
    ///   - address: the server's address inside; if nil, the name is resolved. Only with an address may a name lead to
    ///     this machine itself, or to link-local addresses.
    public func addServer(
        _ server: Endpoint, of entitlement: String? = nil, priority: Int? = nil, route: Route = .relay,
        secondary: String? = nil, at address: IPAddress? = nil
    ) async throws(GatewayError) {
        try await done(
            .addServer(
                .init(
                    endpoint: server.description, entitlement: entitlement, priority: priority,
                    route: route.description, secondary: secondary, address: address?.description)))
    }

    /// Sets how a domain and all its subdomains are reached.
    ///
    /// - Parameters:
    ///   - domain: a domain; `default` for names that no other rule matches; or a network such as `10.0.0.0/8`, which
    ///     can only be denied.
    ///   - route: how apps reach what matches: through the relay, directly, or not at all.
    ///   - ports: the ports that a relay opens; if nil, 80 and 443.
    ///   - secondary: the cluster that is used while no relay of the route's can be reached; nil for none.
    public func setRoute(
        of domain: String, to route: Route, ports: [UInt16]? = nil, secondary: String? = nil
    ) async throws(GatewayError) {
        try await done(.setRoute(domain: domain, route: route.description, ports: ports, secondary: secondary))
    }

    /// Sets the domains to which names without a domain (`portal`) may belong.
    ///
    /// - Parameter domains: at most 16, in the order in which they are considered; none ends what was set.
    public func setDefaultDomains(_ domains: [String]) async throws(GatewayError) {
        try await done(.setDefaultDomains(domains))
    }

    /// Declares users, applications, servers, routes and the rest at once, as `sallyport admin apply` does.
    ///
    /// - Parameters:
    ///   - declaration: YAML of at most 1 MiB; Docs/Administration.md has its form.
    ///   - prune: whether to remove everything that the declaration does not name.
    ///   - endingInstances: confirms that instances may be wiped by this; without it, `needsConfirmation` names them.
    /// - Returns: what changed, a line for each change.
    @discardableResult
    public func apply(
        _ declaration: String, prune: Bool = false, endingInstances: Bool = false
    ) async throws(GatewayError) -> [String] {
        let reply = try await perform(
            .apply(yaml: declaration, prune: prune, dryRun: false, confirmed: endingInstances))
        switch reply.result {
        case .changes(let changes): return changes
        case .needsConfirmation(let instances): throw Self.unconfirmed(instances)
        default: throw Self.unexpected(reply)
        }
    }

    /// The present declaration, in the form that ``apply(_:prune:endingInstances:)`` takes. Contains no secret.
    public func declaration() async throws(GatewayError) -> String {
        let reply = try await perform(.show)
        guard case .configuration(let yaml) = reply else { throw Self.unexpected(reply) }
        return yaml
    }

    /// The activated instances, sorted by identifier.
    public func instances() async throws(GatewayError) -> [Instance] {
        let reply = try await perform(.listInstances)
        guard case .instances(let entries) = reply else { throw Self.unexpected(reply) }
        return entries.map(Instance.init)
    }

    /// Withdraws an instance's access, or gives it back.
    ///
    /// - Parameters:
    ///   - instance: the identifier, as in ``Instance/id``.
    ///   - withdrawal: a block, a lock, a wipe, or the end of one of the first two.
    public func withdraw(_ instance: String, _ withdrawal: Withdrawal) async throws(GatewayError) {
        try await done(.withdraw(instance: instance, withdrawal))
    }

    func done(_ command: AdministrationCommand) async throws(GatewayError) {
        switch try await perform(command).result {
        case .done: return
        case .needsConfirmation(let instances): throw Self.unconfirmed(instances)
        case let reply: throw Self.unexpected(reply)
        }
    }

    private static func unconfirmed(_ instances: [AdministrationReply.InstanceEntry]) -> GatewayError {
        GatewayError(
            .needsConfirmation, "This would wipe \(AdministrationReply.InstanceEntry.names(of: instances)).")
    }

    /// Does not print the reply, since one kind of reply contains a key.
    private static func unexpected(_ reply: AdministrationReply) -> GatewayError {
        GatewayError(.internalFailure, "The command was answered by something else.")
    }
}

extension Gateway {
    /// An installation of an application that a user activated.
    public struct Instance: Sendable, Hashable, Identifiable {
        /// The identifier of the installation: a UUID in lower case.
        public let id: String
        /// The id of the user who activated it, as the directory has it.
        public let user: String
        /// The application's identifier.
        public let entitlement: String
        /// The version that it last asked for; empty before it has asked.
        public let version: String
        /// `active`, `blocked`, `locked`, `wiped` or `denied`.
        public let status: String
        /// When the gateway last authenticated a request of the instance; while its event stream is open, at most a
        /// minute ago. After a restart of the gateway, it may be an earlier contact until the next one: that of the
        /// last change of the instance's record, or of its last configuration, which an app that runs fetches at half
        /// of its lease. Contact at another gateway of the fleet counts as of then too; contact at a relay or a guard
        /// on a machine of its own does not count.
        public let lastContact: Date

        init(_ entry: AdministrationReply.InstanceEntry) {
            (id, user, entitlement) = (entry.instance, entry.user, entry.entitlement)
            (version, status, lastContact) = (entry.version, entry.status, entry.lastContact)
        }
    }

    /// A change of an instance's access.
    public enum Withdrawal: String, Sendable, Hashable, Codable, CaseIterable {
        /// The instance may reach nothing; its data stays accessible to it.
        case block
        /// Ends a block; the instance may reach again what the policy allows.
        case unblock
        /// The instance may reach nothing and drops its keys from memory; its data is kept, encrypted.
        case lock
        /// As ``lock``, with the code -300: the instance was not used for too long, by the administrator's judgement.
        case lockIdle
        /// As ``lock``, with the code -304: the secret that protects the instance's store has to be changed first.
        case lockForPasswordChange
        /// Ends a lock, for whatever reason it was.
        case unlock
        /// The instance destroys its keys and its data. This is final.
        case wipe
    }
}
