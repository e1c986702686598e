import Foundation
import Glibc
import Sallyport
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing

/// Many tunnels at once through a gateway that runs by itself: 1,000 in `make soak`, 100 in `make test`.
@Suite(.serialized) struct TunnelLoadTests {
    @Test func manyTunnelsAtOnceFitIntoLittleMemory() async throws {
        let count = Soak.isOn ? 1000 : 100
        raiseDescriptorLimit()
        let server = try TestServer { connection in
            guard let byte = connection.read(upTo: 1).first else { return }
            _ = connection.write([byte + 1])
            connection.awaitEnd()
        }
        let site = try await Site.start()
        try await site.admin("server", "add", "127.0.0.1:\(server.port)", "--app", Site.app)
        let store = try await site.activatedStore()
        let sallyport = try await Sallyport.open(
            store: store, protectedBy: .keyFile("\(store)/key"), application: .init(Site.app, version: Site.version))
        try await sallyport.authorize()
        let target = try Endpoint("127.0.0.1:\(server.port)")
        let relay = try #require(try sallyport.authorization.access(to: target).relay)
        let transport = Transport()
        let before = try resident(site.gateway)

        let tunnels = try await open(count, to: target, over: transport, ConnectionPath(relay: relay))
        let after = try resident(site.gateway)
        #expect(tunnels.count == count && server.acceptedConnections == count)
        #expect(after < 256 << 20)
        print("Tunnels: \(count) open; the gateway has \(after >> 20) MiB, \(before >> 20) MiB before")
        for tunnel in tunnels { tunnel.close() }
        await transport.shutdown()
        await sallyport.shutdown()
    }

    /// Opens tunnels, 50 at a time, each of which has carried a byte both ways.
    private func open(
        _ count: Int, to target: Endpoint, over transport: Transport, _ path: ConnectionPath
    ) async throws -> [Tunnel] {
        var tunnels: [Tunnel] = []
        while tunnels.count < count {
            let some = min(50, count - tunnels.count)
            tunnels += try await withThrowingTaskGroup(of: Tunnel.self) { group in
                for _ in 0..<some {
                    group.addTask {
                        let tunnel = try await transport.tunnel(TunnelRequest(to: target), via: path)
                        try await tunnel.write([41])
                        let answer = try await tunnel.read()
                        #expect(answer == [42])
                        return tunnel
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }
        return tunnels
    }

    /// Bytes.
    private func resident(_ process: ChildProcess) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(process.identifier)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        return try #require(line.split(separator: " ").dropFirst().first.flatMap { Int($0) }) << 10
    }

    private func raiseDescriptorLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = min(limit.rlim_max, max(limit.rlim_cur, 8192))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
