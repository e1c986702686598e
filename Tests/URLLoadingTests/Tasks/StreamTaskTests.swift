import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SessionTestSupport
import TestSupport
import Testing

@testable import SallyportURLLoading

/// Streams of bytes, direct and through a relay.
@Suite(.timeLimit(.minutes(1))) struct StreamTaskTests {
    private let world: World
    private let loading: URLLoadingSystem

    init() throws {
        world = try World()
        loading = world.loading()
    }

    private var session: SecureSession { get throws { loading.makeSession(try world.configuration()) } }

    @Test func streamLeavesItsRecordWithTheSession() async throws {
        let records = Lock<[LoadRecord]>([])
        var configuration = SessionConfiguration()
        configuration.onRecord = { record in records.withLock { $0.append(record) } }
        let server = try world.echo(isSecure: false)
        let stream = try await loading.makeSession(configuration).streamTask(to: server.endpoint)
        try await stream.write([1, 2, 3])
        stream.closeWrite()
        while try await stream.read() != nil {}
        #expect(try await eventually { records.withLock { $0.map { $0.outcome } } == ["complete"] })
        #expect(records.withLock { $0.first?.bodyBytes } == 3)
    }

    @Test(arguments: [false, true], [false, true])
    func carriesBytesBothWays(_ isRelayed: Bool, _ isSecure: Bool) async throws {
        let server = try world.echo(isSecure: isSecure)
        let relay = isRelayed ? try world.relayed() : nil
        let stream = try await session.streamTask(to: server.endpoint, isSecure: isSecure)
        #expect(stream.decision?.route == (isRelayed ? .relay : .direct))
        let payload = Payload.bytes(300_000)
        try await stream.write(Array(payload.prefix(100_000)))
        try await stream.write(Array(payload.dropFirst(100_000)))
        stream.closeWrite()
        var received: [UInt8] = []
        while let chunk = try await stream.read(upTo: 1000) {
            #expect(chunk.count <= 1000)
            received += chunk
        }
        #expect(received == payload)
        #expect(relay?.acceptedConnections ?? 1 == 1 && server.acceptedConnections == 1)
    }

    @Test func aDeniedServerIsNotConnectedTo() async throws {
        let server = try TestServer { $0.awaitEnd() }
        world.gate.route(by: RoutingTable(default: .deny))
        await #expect(throws: LoadError(.refusedByPolicy, "")) {
            _ = try await session.streamTask(to: server.endpoint)
        }
        #expect(server.acceptedConnections == 0)
    }

    @Test func aRelayedStreamNeverGoesDirect() async throws {
        let server = try TestServer { $0.awaitEnd() }
        let relay = try world.relayed()
        relay.stop()
        let error = await #expect(throws: LoadError.self) { _ = try await session.streamTask(to: server.endpoint) }
        #expect(error?.code == .relayUnreachable && server.acceptedConnections == 0)
    }

    @Test func sessionsThatMayNotLoadMayNotStream() async throws {
        let server = try TestServer { $0.awaitEnd() }
        let (endpoint, session) = try (server.endpoint, session)
        loading.disable()
        await #expect(throws: LoadError(.disabled, "")) { _ = try await session.streamTask(to: endpoint) }
        loading.enable()
        world.gate.withdraw(.blocked)
        await #expect(throws: LoadError(.withdrawn, "")) {
            _ = try await loading.session.streamTask(to: endpoint)
        }
        #expect(server.acceptedConnections == 0)
    }

    @Test(arguments: [false, true]) func withdrawalEndsAStreamWithItsCode(_ isReading: Bool) async throws {
        let server = try TestServer { $0.awaitEnd() }
        let stream = try await loading.session.streamTask(to: server.endpoint)
        let work = Task {
            while isReading { _ = try await stream.read() }
            while true { try await stream.write([UInt8](repeating: 0, count: 1 << 16)) }
        }
        try await Task.sleep(for: .milliseconds(50))
        world.gate.withdraw(.wiped)
        let error = await #expect(throws: LoadError.self) { try await work.value }
        #expect(error?.code == .withdrawn && (error?.underlying as? AccessDenied)?.code == .wiped)
        #expect(try await eventually { server.openConnections == 0 })
    }

    /// Both sides have ended the stream, so a withdrawal finds no connection to end. Access that is given back does not
    /// bring the bytes back.
    @Test func withdrawalDropsTheUnreadBytesOfAStreamThatIsOver() async throws {
        let server = try TestServer { $0.write("hello") }
        let stream = try await loading.session.streamTask(to: server.endpoint)
        let over = AwaitedValue<Void>()
        stream.channel.whenOver { over.set(()) }
        stream.closeWrite()
        _ = await over.wait()
        #expect(stream.receivedBytes == 5)
        world.gate.withdraw(.blocked)
        world.gate.authorize()
        await #expect(throws: LoadError(.withdrawn, "")) { _ = try await stream.read() }
        let next = try await loading.session.streamTask(to: server.endpoint)
        #expect(try await next.read() == Array("hello".utf8))
    }

    /// Lets everything through, and does what a test says when it is asked.
    private final class AskedGate: AccessGate {
        enum Step: CaseIterable { case way, confirmation }

        private let actions = Lock<[Step: @Sendable () -> Void]>([:])

        func when(_ step: Step, _ action: (@Sendable () -> Void)?) { actions.withLock { $0[step] = action } }

        func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
            actions.withLock { $0[.way] }?()
            return ServerAccess(decision: RoutingTable(default: .direct).decide(endpoint), relay: nil)
        }

        func rulesRevision() throws(AccessDenied) -> UInt64 {
            actions.withLock { $0[.confirmation] }?()
            return 0
        }

        func checkAuthorized() throws(AccessDenied) {}

        func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
            AccessObservation()
        }
    }

    /// The session ends while there is no connection to end. With TLS, the policy is asked before there is one.
    @Test(arguments: [false, true], [false, true])
    func aSessionThatEndsBetweenTwoStepsOpensNoStream(_ isSecure: Bool, _ isSwitchedOff: Bool) async throws {
        let server = try TestServer { $0.awaitEnd() }
        let gate = AskedGate()
        let loading = URLLoadingSystem(gate: gate)
        let session = loading.makeSession()
        let step = isSecure ? AskedGate.Step.confirmation : .way
        gate.when(step) { if isSwitchedOff { loading.disable() } else { session.invalidate() } }
        await #expect(throws: LoadError(.sessionInvalidated, "")) {
            _ = try await session.streamTask(to: server.endpoint, isSecure: isSecure)
        }
        gate.when(step, nil)
        #expect(server.acceptedConnections == 0)
    }

    @Test func theEndOfTheSessionEndsAStream() async throws {
        let server = try TestServer { $0.awaitEnd() }
        let session = try session
        let stream = try await session.streamTask(to: server.endpoint)
        let reader = Task { try await stream.read() }
        try await Task.sleep(for: .milliseconds(50))
        session.invalidate()
        await #expect(throws: LoadError(.sessionInvalidated, "")) { try await reader.value }
    }

    @Test func timeIsLimited() async throws {
        let server = try TestServer { $0.awaitEnd() }
        // Time enough for the connection.
        let idle = try await session.streamTask(to: server.endpoint, idleTimeout: .seconds(2))
        await #expect(throws: LoadError(.idleTimeout, "")) { _ = try await idle.read() }
        let late = try await session.streamTask(to: server.endpoint, resourceTimeout: .seconds(2))
        await #expect(throws: LoadError(.resourceTimeout, "")) { _ = try await late.read() }
        #expect(try await eventually { server.openConnections == 0 })
    }

    @Test func writingKeepsAReaderFromBeingIdle() async throws {
        let server = try TestServer { connection in
            var count = 0
            while count < 10, case let chunk = connection.read(), !chunk.isEmpty { count += chunk.count }
            connection.write("done")
            connection.awaitEnd()
        }
        let stream = try await session.streamTask(to: server.endpoint, idleTimeout: .seconds(3))
        async let answer = stream.read()
        // Longer than the idle time-out in sum.
        for _ in 0..<10 {
            try await Task.sleep(for: .milliseconds(400))
            try await stream.write([1])
        }
        #expect(try await answer == Array("done".utf8))
        stream.close()
        stream.close()
        await #expect(throws: LoadError.self) { _ = try await stream.read() }
        await #expect(throws: LoadError(.invalidRequest, "")) { _ = try await stream.read(upTo: 0) }
    }

    /// Only reads and writes can time out: a stream that the app leaves unused for longer stays open.
    @Test func pausesOfTheAppDoNotCount() async throws {
        let server = try TestServer { connection in
            while case let chunk = connection.read(), !chunk.isEmpty { connection.write(chunk) }
        }
        let stream = try await session.streamTask(to: server.endpoint, idleTimeout: .seconds(3))
        for pause in [Duration.seconds(4), .zero] {
            try await Task.sleep(for: pause)
            try await stream.write("again")
            #expect(try await stream.read() == Array("again".utf8))
        }
        let start = ContinuousClock.now
        await #expect(throws: LoadError(.idleTimeout, "")) { _ = try await stream.read() }
        #expect(start.duration(to: .now) >= .milliseconds(2900))
    }

    @Test func releasingAStreamClosesIt() async throws {
        let server = try TestServer { $0.awaitEnd() }
        do { _ = try await session.streamTask(to: server.endpoint) }
        #expect(try await eventually { server.acceptedConnections == 1 && server.openConnections == 0 })
    }

    // MARK: Handlers

    /// Serves `tunnel:PORT` with what a server says on a routed tunnel.
    private struct TunnelHandler: ProtocolHandler {
        static func canHandle(_ request: LoadRequest) -> Bool { request.url.scheme == "tunnel" }

        func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
            let tunnel = try await response.tunnels.open(.init(to: Endpoint("127.0.0.1:\(request.url.path)")))
            defer { tunnel.close() }
            try response.begin(HTTPResponse(status: .ok))
            while let bytes = try await tunnel.read() { try await response.write(bytes) }
        }
    }

    @Test func aHandlersTunnelsGoByThePolicy() async throws {
        let server = try TestServer { $0.write("hello") }
        loading.protocols.register(TunnelHandler.self)
        #expect(try await loading.session.text("tunnel:\(server.port)") == "hello")
        world.gate.route(by: RoutingTable(default: .deny))
        await #expect(throws: LoadError(.refusedByPolicy, "")) {
            _ = try await loading.session.text("tunnel:\(server.port)")
        }
        #expect(server.acceptedConnections == 1)
    }
}
