import Foundation
import Logging
import SallyportBase
import SallyportCore
import SallyportSecureStore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// A relay with a folder of its own, enrolled at a gateway.
final class EnrolledRelay: Sendable {
    /// Not that of the gateways, which are `localhost`.
    static let standardName = "relay.localhost"

    private let folder: TemporaryDirectory
    var path: String { folder.path }
    let name: String
    let membership: RelayMembership

    /// By the same requests and invitations as the program's.
    static func enrolled(at data: GatewayData, named name: String = standardName) async throws -> EnrolledRelay {
        try await EnrolledRelay(at: data, named: name)
    }

    private init(at data: GatewayData, named name: String) async throws {
        self.name = name
        folder = try TemporaryDirectory()
        let path = folder.path
        let protector = KeyFileProtector.keyFile(folder.file("key"))
        let request = try await GatewayDirectory.relayRequest(path, name: name, cluster: "main", protectedBy: protector)
        guard case .relayInvitation(let invited) = await data.perform(.invite(request: request)) else {
            throw TestFailure("no invitation")
        }
        _ = try await GatewayDirectory.joinAsRelay(path, invitation: invited.invitation, protectedBy: protector)
        let store = try await GatewayDirectory.openRelay(path, protectedBy: protector)
        defer { store.close() }
        membership = try #require(try store.membership())
    }

    /// As a client of the control port.
    var identity: ClientIdentity {
        ClientIdentity(certificates: [membership.client.certificate], privateKey: Redacted(membership.client.key))
    }

    func client(of port: Int) throws -> FeedClient {
        FeedClient(
            address: try Endpoint("localhost:\(port)"), identity: membership.client, trust: membership.trust)
    }

    /// Runs the relay for the time of `body`.
    ///
    /// - Parameter relayGuard: nil for a relay; else it is the guard of a foreign one.
    func run(
        lease: Duration = .seconds(300), metrics: Gateway.MetricsListener? = nil,
        as relayGuard: Gateway.RelayGuardSettings? = nil, _ body: @Sendable (RunningRelay) async throws -> Void
    ) async throws {
        var configuration = Gateway.Configuration.loopback
        configuration.role = relayGuard == nil ? .relay : .guarding
        configuration.relayGuard = relayGuard
        configuration.relayLease = lease
        configuration.metrics = metrics
        let gateway = try await Gateway(
            at: path, protectedBy: .keyFile("\(path)/key"), configuration: configuration,
            logger: Logger(label: "relay") { _ in SwiftLogNoOpLogHandler() })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await gateway.run() }
            let listeners = try await gateway.listeners()
            let running = RunningRelay(
                name: name, port: UInt16(listeners.relayPort), metricsPort: listeners.metricsPort,
                authority: membership.trust[0])
            do { try await body(running) } catch {
                running.leave()
                throw error
            }
            running.leave()
            group.cancelAll()
        }
    }
}

/// A relay that runs.
final class RunningRelay: Sendable {
    private let name: String
    let port: UInt16
    let metricsPort: Int?
    private let authority: [UInt8]
    private let opened = Lock<[TestConnection]>([])
    /// The heads of the answers that were no 200.
    let refusals = Lock<[String]>([])

    init(name: String, port: UInt16, metricsPort: Int?, authority: [UInt8]) {
        (self.name, self.port, self.metricsPort, self.authority) = (name, port, metricsPort, authority)
    }

    func leave() { for connection in opened.withLock({ $0 }) { connection.close() } }

    /// Sends a CONNECT, and returns what the relay answered.
    func connect(
        to target: UInt16, as identity: ClientIdentity
    ) async throws -> (connection: TestConnection, status: Int) {
        let connection = try await TestConnection.open(port: port, of: name, authority: authority, identity: identity)
        opened.withLock { $0.append(connection) }
        connection.send("CONNECT 127.0.0.1:\(target) HTTP/1.1\r\nHost: 127.0.0.1:\(target)\r\n\r\n")
        let head = try await connection.head()
        let words = head.split(separator: " ")
        if words[1] != "200" { refusals.withLock { $0.append(head) } }
        return (connection, Int(words[1]) ?? 0)
    }

    /// An open tunnel, as soon as there is one to be had.
    func tunnel(to target: UInt16, as identity: ClientIdentity) async throws -> TestConnection {
        let found = Lock<TestConnection?>(nil)
        let isOpen = try await eventually(within: .seconds(20)) {
            let (connection, status) = try await self.connect(to: target, as: identity)
            guard status == 200 else { return false }
            found.withLock { $0 = connection }
            return true
        }
        try #require(isOpen)
        return try #require(found.withLock { $0 })
    }
}

/// For tests of what relays answer: a command waits for the answers, however busy the machine is.
extension Duration {
    static var relaysAnswer: Duration { .seconds(60) }
}

extension Gateway.Configuration {
    static var patient: Gateway.Configuration {
        var configuration = Gateway.Configuration.loopback
        configuration.relayPatience = .relaysAnswer
        return configuration
    }
}

extension FeedHub {
    static func patient(_ data: GatewayData) -> FeedHub {
        FeedHub(data, lease: .seconds(300), gate: LeaseGate(), patience: .relaysAnswer)
    }
}

/// A gateway, a relay that follows it, an instance, and a server that echoes.
struct FeedFixture: Sendable {
    let control: ControlFixture
    let enrolled: EnrolledRelay
    let relay: RunningRelay
    let origin: TestOrigin
    let identity: ClientIdentity

    /// - Parameter isFaulty: whether the gateway has a ``FaultyStore``.
    static func with(
        lease: Duration = .seconds(300), patience: Duration = .relaysAnswer, isFaulty: Bool = false,
        _ body: @Sendable (FeedFixture) async throws -> Void
    ) async throws {
        let origin = try await TestOrigin(echoes: true)
        let data = try await DataFixture(standsStill: false, isFaulty: isFaulty)
        try await ControlFixture.with(data, patience: patience) { control in
            try await control.data.perform(.addServer(.init(endpoint: "127.0.0.1:\(origin.port)")))
            let identity = try await control.activated()
            let enrolled = try await EnrolledRelay.enrolled(at: control.data.data)
            try await enrolled.run(lease: lease) { relay in
                try await body(
                    FeedFixture(
                        control: control, enrolled: enrolled, relay: relay, origin: origin, identity: identity))
            }
        }
        try await origin.close()
    }

    func instance() async throws -> String {
        try await control.data.data.presented(identity.certificates[0]).name.instance.description
    }

    /// As an administrator does it by the program.
    func administer(_ command: AdministrationCommand) async throws -> AdministrationReply {
        try await AdministrationClient(
            data: control.data.path, protectedBy: .keyFile("\(control.data.path)/key")
        ).perform(command)
    }
}
