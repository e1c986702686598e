import Logging
import SallyportConnecting
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing

@testable import SallyportSocket

/// An origin authority, a relay with its own, and the sockets of one instance.
struct World: Sendable {
    let gate = StubGate()
    let sockets: SocketSystem
    let gateway: TestAuthority
    let origin: TestAuthority

    init(added: TLSVersions = TLSVersions([])) throws {
        let items = [("TLS1.0", TLSVersion.tls10), ("TLS1.1", .tls11)].filter { added.contains($0.1) }.map(\.0)
        sockets = SocketSystem(
            connector: Connector(gate: gate, controlTLSVersions: try ControlTLSVersions(items)),
            logger: .init(label: "test"))
        gateway = try TestAuthority(name: "Gateway")
        origin = try TestAuthority(name: "Origin")
    }

    var originTLS: TestTLS {
        get throws { try TestTLS(origin.server(names: ["localhost"], addresses: [.v4(0x7f00_0001)])) }
    }

    /// Trusts the origin's authority.
    func configuration(_ change: (inout SocketConfiguration) throws -> Void = { _ in }) throws -> SocketConfiguration {
        var configuration = SocketConfiguration()
        configuration.trust = try .only([origin.der])
        try change(&configuration)
        return configuration
    }

    /// From now on all servers are reached through the relay.
    func relayed(
        blocking: Set<TLSVersion> = [], floor: TLSVersion? = nil,
        serve: @escaping @Sendable (TestConnection, TestTLS) -> Void = { TestRelay.serve($0, $1) }
    ) throws -> TestServer {
        let tls = try TestTLS(gateway.server(names: ["localhost"]), requiring: gateway)
        let relay = try TestServer { serve($0, tls) }
        let access = try RelayAccess(
            cluster: "main", relays: [.init(Endpoint("localhost:\(relay.port)"), priority: 1)],
            authorities: [gateway.der], identity: gateway.client().clientIdentity)
        let table = RoutingTable(domains: [], default: .relay, defaultPorts: Set(1...65535))
        gate.route(by: table, relay: access, blocking: blocking, floor: floor)
        return relay
    }

    /// Runs `serve` with each connection, with or without TLS.
    func server(
        isSecure: Bool, _ change: (inout TestTLS) -> Void = { _ in },
        _ serve: @escaping @Sendable (any TestStream) -> Void
    ) throws -> TestServer {
        guard isSecure else { return try TestServer { serve($0) } }
        var tls = try originTLS
        change(&tls)
        return try TestServer { [tls] connection in if let client = tls.accept(connection) { serve(client) } }
    }

    /// Sends everything back once the client has ended its side, and ends its own.
    func echo(isSecure: Bool) throws -> TestServer {
        try server(isSecure: isSecure) { client in
            let bytes = client.readAll()
            guard client.peerEnded else { return }
            for start in stride(from: 0, to: bytes.count, by: 16384) {
                guard client.write(Array(bytes[start..<min(start + 16384, bytes.count)])) else { return }
            }
            client.end()
        }
    }

    /// Sends back what comes, as it comes.
    func mirror(isSecure: Bool) throws -> TestServer {
        try server(isSecure: isSecure) { client in
            while case let chunk = client.read(upTo: 16384), !chunk.isEmpty { client.write(chunk) }
            if client.peerEnded { client.end() }
        }
    }

    func open(
        _ server: TestServer, isSecure: Bool, _ change: (inout SocketConfiguration) throws -> Void = { _ in }
    ) async throws -> ByteStream {
        try await sockets.connect(to: server.endpoint, isSecure: isSecure, configuration(change))
    }
}

/// A connection of a test server, with TLS or without.
protocol TestStream {
    func read(upTo limit: Int) -> [UInt8]
    @discardableResult
    func write(_ octets: [UInt8]) -> Bool
    /// The client has ended its side as it should.
    var peerEnded: Bool { get }
    /// Ends the server's side.
    func end()
}

extension TestStream {
    func readAll() -> [UInt8] {
        var bytes: [UInt8] = []
        while case let chunk = read(upTo: 16384), !chunk.isEmpty { bytes += chunk }
        return bytes
    }
}

extension TestConnection: TestStream {
    var peerEnded: Bool { true }
    func end() { endSending() }
}

extension TestTLSConnection: TestStream {}

extension ByteStream {
    func readAll() async throws(LoadError) -> [UInt8] {
        var all: [UInt8] = []
        for try await chunk in bytes { all += chunk }
        return all
    }
}

/// Octets that no other place of the stream has in a row, and no stream of another seed.
func payload(_ count: Int, seed: UInt8 = 0) -> [UInt8] {
    // Not by map(): without the optimiser that asks the runtime for a type each time, which threads do one by one.
    var bytes = [UInt8](repeating: 0, count: count)
    var index = 0
    while index < count {
        bytes[index] = UInt8(truncatingIfNeeded: (index &* 31 >> 3) ^ Int(seed) &* 41)
        index += 1
    }
    return bytes
}
