public import SallyportCore

/// What an administrator may do, in this process. Each is one transaction, durable when it returns, and holds from then
/// on for new connections and open ones; running instances are told within seconds.
///
/// All throw ``GatewayError``: `invalid` for a value that is not what it should be, `notFound` and `exists`, `ended` after
/// ``shutdown()``, `cancelled`, and `store` where the data folder failed, and then nothing was changed.
extension Gateway {
    /// Adds a user, who may do nothing yet.
    ///
    /// - Parameter user: usually an address: 1 to 254 bytes, no control characters, no colon, no space at either end.
    public func addUser(_ user: String) async throws(GatewayError) { try await done(.addUser(user)) }

    /// Removes a user, whose instances are wiped.
    ///
    /// - Parameter endingInstances: whether that is wanted; without it, `needsConfirmation` names them.
    public func removeUser(_ user: String, endingInstances: Bool = false) async throws(GatewayError) {
        try await done(.removeUser(user, confirmed: endingInstances))
    }

    /// Adds a version of an application.
    ///
    /// - Parameters:
    ///   - entitlement: its identifier, as `com.example.report`.
    ///   - version: 1 to 4 numbers of up to 3 digits, as `1.0.0.0`.
    public func addApplication(_ entitlement: String, version: String) async throws(GatewayError) {
        try await done(.addApplication(entitlement: entitlement, version: version))
    }

    /// Lets a user activate a version of an application, which was added before.
    public func entitle(_ user: String, to entitlement: String, version: String) async throws(GatewayError) {
        try await done(.entitle(user: user, entitlement: entitlement, version: version))
    }

    /// Makes an activation link, which activates one instance, once, within 24 hours.
    ///
    /// It names the port that the gateway listens on, or that it listened on last: ask once it listens. It has a key in it:
    /// hand it over as a password, and keep it out of logs.
    public func invite(_ user: String, to entitlement: String) async throws(GatewayError) -> String {
        let reply = try await perform(.issueKey(user: user, entitlement: entitlement))
        guard case .link(let link) = reply else { throw Self.unexpected(reply) }
        return link
    }

    /// Adds a server that apps may reach.
    ///
    /// - Parameters:
    ///   - entitlement: the application whose server it is, and which is told of it; nil for a server of all.
    ///   - priority: among an application's servers: 1 is tried first; 1 to 1000.
    ///   - address: where the name leads inside; it is resolved where nil. Only with an address may a name lead to this
    ///     machine itself, or to link-local addresses.
    public func addServer(
        _ server: Endpoint, of entitlement: String? = nil, priority: Int? = nil, route: Route = .relay,
        at address: IPAddress? = nil
    ) async throws(GatewayError) {
        try await done(
            .addServer(
                .init(
                    endpoint: server.description, entitlement: entitlement, priority: priority,
                    route: route.description, address: address?.description)))
    }

    /// Says how a domain, and all below it, is reached.
    ///
    /// - Parameters:
    ///   - domain: `default` for what nothing else matches; or a network, as `10.0.0.0/8`, which can be denied only.
    ///   - ports: that a relay opens; 80 and 443 where nil.
    public func setRoute(of domain: String, to route: Route, ports: [UInt16]? = nil) async throws(GatewayError) {
        try await done(.setRoute(domain: domain, route: route.description, ports: ports))
    }

    /// Declares users, applications, servers, routes and the rest at once, as `sallyport admin apply` does.
    ///
    /// - Parameters:
    ///   - declaration: YAML of at most 1 MiB; Docs/Administration.md has its form.
    ///   - prune: whether what it does not name is removed.
    ///   - endingInstances: whether instances may be wiped by that; without it, `needsConfirmation` names them.
    /// - Returns: what changed, a line for each change.
    @discardableResult
    public func apply(
        _ declaration: String, prune: Bool = false, endingInstances: Bool = false
    ) async throws(GatewayError) -> [String] {
        let reply = try await perform(
            .apply(yaml: declaration, prune: prune, dryRun: false, confirmed: endingInstances))
        switch reply {
        case .changes(let changes): return changes
        case .needsConfirmation(let instances): throw Self.unconfirmed(instances)
        default: throw Self.unexpected(reply)
        }
    }

    /// What is declared, as ``apply(_:prune:endingInstances:)`` takes it. Holds no secret.
    public func declaration() async throws(GatewayError) -> String {
        let reply = try await perform(.show)
        guard case .configuration(let yaml) = reply else { throw Self.unexpected(reply) }
        return yaml
    }

    /// The instances that were activated, by identifier.
    public func instances() async throws(GatewayError) -> [Instance] {
        let reply = try await perform(.listInstances)
        guard case .instances(let entries) = reply else { throw Self.unexpected(reply) }
        return entries.map(Instance.init)
    }

    /// Takes an instance's access away, or gives it back.
    ///
    /// - Parameter instance: as ``Instance/id`` names it.
    public func withdraw(_ instance: String, _ withdrawal: Withdrawal) async throws(GatewayError) {
        try await done(.withdraw(instance: instance, withdrawal))
    }

    private func done(_ command: AdministrationCommand) async throws(GatewayError) {
        switch try await perform(command) {
        case .done, .warned: return
        case .needsConfirmation(let instances): throw Self.unconfirmed(instances)
        case let reply: throw Self.unexpected(reply)
        }
    }

    private static func unconfirmed(_ instances: [AdministrationReply.InstanceEntry]) -> GatewayError {
        let names = instances.prefix(10).map { "\($0.instance) of \($0.user)" }.joined(separator: ", ")
        let more = instances.count > 10 ? " and \(instances.count - 10) more" : ""
        return GatewayError(.needsConfirmation, "This would wipe \(names)\(more).")
    }

    /// Names no reply: one of them has a key in it.
    private static func unexpected(_ reply: AdministrationReply) -> GatewayError {
        GatewayError(.internalFailure, "The command was answered by something else.")
    }
}

extension Gateway {
    /// An installation of an application that a user activated.
    public struct Instance: Sendable, Hashable, Identifiable {
        public let id: String
        public let user: String
        /// The application's.
        public let entitlement: String
        /// That it last asked for; empty before it did.
        public let version: String
        /// `active`, `blocked`, `locked`, `wiped` or `denied`.
        public let status: String

        init(_ entry: AdministrationReply.InstanceEntry) {
            (id, user, entitlement) = (entry.instance, entry.user, entry.entitlement)
            (version, status) = (entry.version, entry.status)
        }
    }

    /// What befalls an instance, or no longer does.
    public enum Withdrawal: String, Sendable, Hashable, Codable, CaseIterable {
        /// It may reach nothing; its data stays open to it.
        case block
        case unblock
        /// It may reach nothing and drops its keys from memory; its data is kept, closed.
        case lock
        case unlock
        /// It destroys its keys and its data. For good.
        case wipe
    }
}
