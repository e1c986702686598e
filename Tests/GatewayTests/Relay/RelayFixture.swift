import Glibc
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import SallyportBase
import SallyportCore
import TestSupport

@testable import SallyportGateway

/// A policy that a test changes. Allows everything until told otherwise.
final class StubPolicy: RelayPolicy {
    let verdict: Lock<RelayVerdict>
    /// Called while a CONNECT with a certificate that is not known waits.
    let news = Lock<(@Sendable (StubPolicy) -> Void)?>(nil)
    /// Whether no gateway can be asked for news.
    let isCutOff = Lock(false)

    init(_ verdict: RelayVerdict = .allowed(instance: "one", address: nil, mayBeLocal: true)) {
        self.verdict = Lock(verdict)
    }

    /// How many certificates were looked at.
    let handshakes = Lock(0)

    func client(presenting certificateDER: [UInt8]) -> (any RelayClient)? {
        handshakes.withLock { $0 += 1 }
        return Client(policy: self)
    }

    private struct Client: RelayClient {
        let instance: String? = "one"
        let policy: StubPolicy
        var instanceInGoodStanding: String? { policy.verdict.withLock { $0 == .unknown } ? nil : instance }
        func catchUp() async -> Bool {
            policy.news.withLock { $0 }?(policy)
            return !policy.isCutOff.withLock { $0 }
        }
        func decide(_ target: Endpoint) -> RelayVerdict { policy.verdict.withLock { $0 } }
        func reconsider(_ target: Endpoint) -> RelayVerdict { decide(target) }
    }

    func set(_ verdict: RelayVerdict) { self.verdict.withLock { $0 = verdict } }

    static let denied = RelayVerdict.refused(error: "http_request_denied", details: "Not for you.", status: 403)
}

/// A resolver that a test changes; without addresses it never answers.
final class StubResolver: NameResolver {
    let answer: Lock<[IPAddress]?>
    init(_ addresses: [String]? = ["127.0.0.1"]) { answer = Lock(addresses?.compactMap { IPAddress($0) }) }

    private let resolving = Lock<(@Sendable () -> [IPAddress])?>(nil)

    func set(_ addresses: [String]) { answer.withLock { $0 = addresses.compactMap { IPAddress($0) } } }

    /// Answers by a function, which is called in the midst of a CONNECT.
    func whileResolving(_ body: @escaping @Sendable () -> [IPAddress]) { resolving.withLock { $0 = body } }

    private let wanted = Lock<(@Sendable () -> Bool)?>(nil)

    /// Whether the last answer is still waited for; nil before the first question.
    var isWanted: Bool? { wanted.withLock { $0 }?() }

    func addresses(
        of name: String, on eventLoop: any EventLoop, while isWanted: @escaping @Sendable () -> Bool
    ) -> EventLoopFuture<[IPAddress]> {
        wanted.withLock { $0 = isWanted }
        return addresses(of: name, on: eventLoop)
    }

    func addresses(of name: String, on eventLoop: any EventLoop) -> EventLoopFuture<[IPAddress]> {
        if let body = resolving.withLock({ $0 }) { return eventLoop.makeSucceededFuture(body()) }
        guard let addresses = answer.withLock({ $0 }) else {
            return eventLoop.scheduleTask(in: .seconds(30)) { [] }.futureResult
        }
        return eventLoop.makeSucceededFuture(addresses)
    }
}

/// A relay on loopback with an authority of its own.
struct RelayFixture: Sendable {
    static let loopback = IPAddress.v4(0x7f00_0001)

    let authority: TestAuthority
    let policy = StubPolicy()
    let resolver: StubResolver
    let log = LogRecorder()
    let connections: Connections
    let relay: Relay
    let port: UInt16

    init(
        resolver: StubResolver = StubResolver(), limits: ConnectionLimits = ConnectionLimits(),
        configure: (inout RelayConfiguration) -> Void = { _ in }
    ) async throws {
        authority = try TestAuthority()
        self.resolver = resolver
        var configuration = RelayConfiguration(host: Self.loopback, port: 0, trust: [try authority.der])
        configuration.drainTime = .milliseconds(100)
        configure(&configuration)
        let log = log
        let logger = Logger(label: "relay") { _ in RecordingLogHandler(recorder: log) }
        connections = Connections(limits, logger: logger)
        relay = try Relay(
            configuration: configuration, identity: Self.identity(authority), policy: policy, resolver: resolver,
            connections: connections, logger: logger)
        port = try await relay.start()
    }

    static func identity(_ authority: TestAuthority) throws -> RelayIdentity {
        let server = try authority.server(names: ["localhost"], addresses: [loopback])
        return RelayIdentity(certificates: [try server.der], privateKey: Redacted(server.keyPEM))
    }

    /// Runs `body`, and shuts the relay down behind it.
    static func with(
        resolver: StubResolver = StubResolver(), limits: ConnectionLimits = ConnectionLimits(),
        configure: (inout RelayConfiguration) -> Void = { _ in }, _ body: (RelayFixture) async throws -> Void
    ) async throws {
        let fixture = try await RelayFixture(resolver: resolver, limits: limits, configure: configure)
        do { try await body(fixture) } catch {
            await fixture.relay.shutdown()
            throw error
        }
        await fixture.relay.shutdown()
    }

    /// A TLS connection to the relay, as an instance unless said otherwise.
    func connect(as identity: TestIdentity? = nil) async throws -> TestConnection {
        try await TestConnection.open(port: port, trust: authority, identity: identity ?? authority.client())
    }

    /// An open tunnel.
    func tunnel(to port: UInt16, host: String = "127.0.0.1") async throws -> TestConnection {
        let connection = try await connect()
        connection.send("CONNECT \(host):\(port) HTTP/1.1\r\nHost: \(host):\(port)\r\n\r\n")
        let head = try await connection.head()
        guard head.hasPrefix("HTTP/1.1 200") else { throw TestFailure(head) }
        return connection
    }

    /// The answer to a head that gets no tunnel, up to the end of the connection.
    func refusal(of head: String) async throws -> String {
        let connection = try await connect()
        connection.send(head)
        return String(decoding: try await connection.rest(), as: UTF8.self)
    }

    func refusal(connecting target: String) async throws -> String {
        try await refusal(of: "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\r\n")
    }
}

struct TestFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

final class LogRecorder: Sendable {
    private let stored = Lock<[String]>([])
    var lines: [String] { stored.withLock { $0 } }
    func append(_ line: String) { stored.withLock { $0.append(line) } }
}

struct RecordingLogHandler: LogHandler {
    let recorder: LogRecorder
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let pairs = (event.metadata ?? [:]).map { "\($0.key)=\($0.value)" }.sorted()
        recorder.append("\(event.message) " + pairs.joined(separator: " "))
    }
}
