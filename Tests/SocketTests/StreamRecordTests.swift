import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportSocket

/// Each stream leaves the record that a load leaves: its way, its connection and its end.
@Suite(.timeLimit(.minutes(1)))
struct StreamRecordTests {
    private let world: World
    private let app: SocketApp
    private let records = Lock<[LoadRecord]>([])

    init() throws {
        world = try World()
        app = try SocketApp(in: world)
    }

    private func open(_ server: TestServer, isSecure: Bool) async throws -> ByteStream {
        try await app.open(server, isSecure: isSecure) { [records] configuration in
            configuration.onRecord = { record in records.withLock { $0.append(record) } }
        }
    }

    private func onlyRecord() async throws -> LoadRecord {
        #expect(try await eventually { records.withLock { $0.count } == 1 })
        return try #require(records.withLock { $0.first })
    }

    @Test(arguments: [false, true], [false, true])
    func streamThatEndsOnBothSidesIsComplete(_ isRelayed: Bool, _ isSecure: Bool) async throws {
        let server = try world.echo(isSecure: isSecure)
        let relay = isRelayed ? try world.relayed() : nil
        let stream = try await open(server, isSecure: isSecure)
        let before = try #require(stream.record)
        #expect(before.outcome == "open" && before.head != nil)
        let isTold = records.withLock { !$0.isEmpty }
        #expect(!isTold)
        try await stream.write(payload(100_000))
        stream.closeWrite()
        _ = try await stream.readAll()

        let record = try await onlyRecord()
        #expect(record.outcome == "complete" && record.error == nil && record.bodyBytes == 100_000)
        let url = "\(isSecure ? "tls" : "tcp")://\(try server.endpoint)"
        #expect(record.method == "CONNECT" && record.url == url)
        #expect(record.decisions.map { $0.kind } == [.route])
        let hop = try #require(record.hops.first)
        #expect(record.hops.count == 1 && hop.error == nil && hop.rule != nil)
        let route = isRelayed ? "relay" : "direct"
        #expect(hop.route == route && record.decisions.first?.value == route)
        #expect(hop.sent.body == 100_000 && hop.received.body == 100_000)
        #expect(hop.connection.tls == (isSecure ? "TLSv1.3" : nil))
        #expect((hop.connection.relay != nil) == isRelayed)
        #expect(hop.phases.connect != nil)
        #expect((hop.phases.tls != nil) == isSecure)
        #expect((hop.phases.relayTLS != nil) == isRelayed)
        let end = try #require(hop.end)
        #expect(end <= record.duration + 0.001)
        _ = relay
    }

    @Test
    func streamThatTheAppResetsIsDiscarded() async throws {
        let server = try world.mirror(isSecure: true)
        let stream = try await open(server, isSecure: true)
        try await stream.write([1, 2, 3])
        #expect(try await stream.read() == [1, 2, 3])
        stream.reset()
        let record = try await onlyRecord()
        #expect(record.outcome == "discarded" && record.error == nil)
        #expect(record.hops.first?.sent.body == 3)
    }

    @Test
    func withdrawalEndsTheRecordWithItsCode() async throws {
        let server = try world.mirror(isSecure: false)
        let stream = try await open(server, isSecure: false)
        world.gate.withdraw(.blocked)
        let record = try await onlyRecord()
        #expect(record.outcome == "withdrawn" && record.hops.first?.error?.code == "withdrawn")
        _ = stream
    }

    @Test
    func refusedStreamHasNoHop() async throws {
        let server = try world.mirror(isSecure: false)
        world.gate.route(by: RoutingTable(domains: [], default: .deny))
        await #expect(throws: LoadError(.refusedByPolicy, "")) { try await open(server, isSecure: false) }
        let record = try await onlyRecord()
        #expect(record.outcome == "refusedByPolicy" && record.hops.isEmpty)
    }

    @Test
    func untrustedServerIsNamedInTheHop() async throws {
        let other = try World()
        let server = try other.mirror(isSecure: true)
        await #expect(throws: LoadError(.serverNotTrusted, "")) { try await open(server, isSecure: true) }
        let record = try await onlyRecord()
        #expect(record.outcome == "serverNotTrusted" && record.hops.map { $0.error?.code } == ["serverNotTrusted"])
    }

    @Test
    func streamWithoutListenerHasNoRecord() async throws {
        let server = try world.mirror(isSecure: false)
        let stream = try await app.open(server, isSecure: false)
        #expect(stream.record == nil)
    }
}
