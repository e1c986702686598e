import Glibc
import Logging
import SallyportBase
import SallyportCore
import SallyportGateway
import SallyportSecureStore
import ServiceLifecycle
import UnixSignals

/// A gateway and its data, as used by the program's commands.
struct GatewayHost {
    private let location: DataLocationOptions

    init(_ location: DataLocationOptions) { self.location = location }

    private var protection: Protection { location.protector.protection(of: location.data) }

    /// The result of `gateway init`.
    struct Made: Encodable {
        let data: String
        let name: String
        /// Of a new fleet.
        let recoveryKey: String?
    }

    /// Says so if the directory is not that of a gateway, but of an app.
    private func explainingMistakes<Result>(
        _ body: (any KeyProtector) async throws -> Result
    ) async throws -> Result {
        let protector = try protection.protector()
        do { return try await body(protector) } catch let error as GatewayError {
            throw await DirectoryMistake.explained(error, at: location.data, protectedBy: protector)
        }
    }

    /// As ``explainingMistakes(_:)``, for what reports errors of the store and the database as they are.
    private func changing<Result>(_ body: (any KeyProtector) async throws -> Result) async throws -> Result {
        try Self.keepFromDumps()
        return try await explainingMistakes { protector in
            do { return try await body(protector) } catch { throw GatewayError(error) }
        }
    }

    /// Call this before a gateway's keys are read into this process.
    static func keepFromDumps() throws(CommandFailure) {
        guard ProcessMemory.keepFromDumps() else { throw dumpable }
    }

    static let dumpable = CommandFailure(
        .software, name: "internalFailure", "This process cannot be kept out of core dumps, which would show its keys.")

    func initialize(name: String?, database: String?, asOwner owner: String?) async throws -> Made {
        let name = try name ?? Self.machineName()
        let recoveryKey = try await changing { protector in
            try await GatewayDirectory.initialize(
                location.data, name: name, protectedBy: protector, database: database, asOwner: owner,
                through: Self.databases)
        }
        protection.warnIfDefault()
        if let database, let warning = await GatewayDirectory.warning(ofDatabase: database, through: Self.databases) {
            StandardStreams.error("warning: \(warning)")
        }
        return Made(data: location.data, name: name, recoveryKey: recoveryKey?.reveal())
    }

    /// A request to join a fleet, or what became of it.
    struct Joined: Encodable {
        let data: String
        /// For a gateway of the fleet; nil once the fleet is joined.
        let request: String?
        let name: String?
    }

    /// - Parameters:
    ///   - invitation: nil to make the request for one.
    ///   - cluster: to make a relay's request, for this cluster; nil to make a gateway's.
    func join(name: String?, invitation: String?, asRelayOf cluster: String?) async throws -> Joined {
        let joined = try await changing { try await join(name, invitation, cluster, protectedBy: $0) }
        protection.warnIfDefault()
        return joined
    }

    private func join(
        _ name: String?, _ invitation: String?, _ cluster: String?, protectedBy protector: any KeyProtector
    ) async throws -> Joined {
        if let invitation, GatewayDirectory.isRelayInvitation(invitation) {
            let name = try await GatewayDirectory.joinAsRelay(
                location.data, invitation: invitation, protectedBy: protector)
            return Joined(data: location.data, request: nil, name: name)
        }
        if invitation == nil, let cluster {
            let request = try await GatewayDirectory.relayRequest(
                location.data, name: name ?? Self.machineName(), cluster: cluster, protectedBy: protector)
            return Joined(data: location.data, request: request, name: nil)
        }
        guard let invitation else {
            let request = try await GatewayDirectory.joinRequest(location.data, protectedBy: protector)
            return Joined(data: location.data, request: request, name: nil)
        }
        let name = try name ?? Self.machineName()
        try await GatewayDirectory.join(
            location.data, name: name, invitation: invitation, protectedBy: protector, through: Self.databases)
        return Joined(data: location.data, request: nil, name: name)
    }

    func restoreFleet(isConfirmed: Bool) async throws -> FleetRestoration {
        try await changing { protector in
            try await GatewayDirectory.restoreFleet(
                location.data, isConfirmed: isConfirmed, protectedBy: protector, through: Self.databases)
        }
    }

    /// - Returns: the level of the tables.
    func upgradeFleet(asOwner owner: String) async throws -> Int64 {
        try await changing { protector in
            try await GatewayDirectory.upgradeFleet(
                location.data, asOwner: owner, protectedBy: protector, through: Self.databases)
        }
    }

    /// - Returns: the revision of the database.
    func moveFleet(to url: String) async throws -> Int64 {
        try await changing { protector in
            try await GatewayDirectory.moveFleet(
                location.data, to: url, protectedBy: protector, through: Self.databases)
        }
    }

    func recover(name: String?, database: String, recoveryKey: Redacted<String>) async throws -> Joined {
        let name = try name ?? Self.machineName()
        try await changing { protector in
            try await GatewayDirectory.recover(
                location.data, name: name, database: database, recoveryKey: recoveryKey, protectedBy: protector,
                through: Self.databases)
        }
        protection.warnIfDefault()
        return Joined(data: location.data, request: nil, name: name)
    }

    /// Where a running gateway listens.
    struct Addresses: Encodable {
        /// Nil where it is a relay only, as `relay` is where it has none.
        let control: String?
        let relay: String?
        /// Without TLS, if that was requested.
        let verification: String?
        /// Where metrics and health are told, if that was requested.
        let metrics: String?
        /// The socket at which a foreign relay asks, if that was requested.
        let `guard`: String?
        let ready = true

        init(_ bound: Gateway.Listeners, of configuration: Gateway.Configuration) {
            control =
                bound.controlPort == 0 ? nil : Self.address(configuration.controlHost, bound.controlPort)
            relay = bound.relayPort == 0 ? nil : Self.address(configuration.relayHost, bound.relayPort)
            verification = bound.verificationPort.map {
                Self.address(configuration.plainVerification?.host ?? "", $0)
            }
            metrics = bound.metricsPort.map { Self.address(configuration.metrics?.host ?? "", $0) }
            `guard` = configuration.relayGuard?.path
        }

        private static func address(_ host: String, _ port: Int) -> String {
            host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        }
    }

    /// Runs until SIGTERM or SIGINT, which shut the gateway down gracefully.
    func run(
        _ configuration: Gateway.Configuration, logger: Logger, whenReady: @escaping @Sendable (Addresses) -> Void
    ) async throws {
        try Self.keepFromDumps()
        let gateway = try await explainingMistakes { protector in
            try await Gateway(
                at: location.data, protectedBy: protector, configuration: configuration, through: Self.databases,
                logger: logger)
        }
        let group = ServiceGroup(services: [gateway], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        // If the gateway cannot start, the task group throws the same error.
        async let ready: Void = whenReady(Addresses(gateway.listeners(), of: configuration))
        try await group.run()
        _ = try? await ready
    }

    /// The files written by `gateway certificate`.
    struct Files: Encodable {
        let key: String
        let certificate: String
        let authority: String
    }

    func issueCertificate(for host: String, in directory: String) async throws -> Files {
        guard case .name(let name)? = try? Host(host) else {
            throw CommandFailure(
                .usage, name: "invalid", "A relay's certificate is for its host name, which '\(host)' is not.",
                hint: "give a name such as relay.corp.example")
        }
        try Self.keepFromDumps()
        let issued = try await explainingMistakes { protector in
            try await GatewayDirectory.certificate(
                location.data, host: name, protectedBy: protector, through: Self.databases)
        }
        let files = Files(
            key: DirectoryPath.appending("\(name).key", to: directory),
            certificate: DirectoryPath.appending("\(name).pem", to: directory),
            authority: DirectoryPath.appending("ca.pem", to: directory))
        try NewFile.write([
            (issued.key, files.key, 0o600), (issued.certificate, files.certificate, 0o644),
            (issued.authority, files.authority, 0o644),
        ])
        return files
    }

    static let nameless = CommandFailure(
        .usage, name: "noName", "This machine has no name.", hint: "give --name HOST, at which apps reach the gateway")

    /// The machine's full name, as far as it knows one.
    private static func machineName() throws -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else {
            throw nameless
        }
        let short = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard !short.isEmpty else { throw nameless }
        var hints = addrinfo()
        hints.ai_flags = AI_CANONNAME
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(short, nil, &hints, &list) == 0 else { return short }
        defer { freeaddrinfo(list) }
        return list?.pointee.ai_canonname.map { String(cString: $0) } ?? short
    }
}
