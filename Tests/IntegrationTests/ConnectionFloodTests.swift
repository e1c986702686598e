import Foundation
import Glibc
import Sallyport
import SallyportBase
import SallyportCore
import TestSupport
import Testing

/// A source that opens connections and sends nothing, and an app that works meanwhile, at a gateway in a process of its
/// own.
@Suite(.serialized, .timeLimit(.minutes(3))) struct ConnectionFloodTests {
    private static let fetches = 100

    /// 10,000 in `make soak`, 3,000 in `make test`: one source may have 64, and each listener had room for 1,024.
    @Test func idleConnectionsOfOneSourceStopNoOtherSource() async throws {
        let count = Soak.isOn ? 10_000 : 3000
        IdleFlood.raiseDescriptorLimit(to: count + 1000)
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        let store = try await site.activatedStore()
        let sallyport = try await Sallyport.open(
            store: store, protectedBy: .keyFile("\(store)/key"), application: .init(Site.app, version: Site.version))
        try await sallyport.authorize()
        let alone = try await fetch(intranet, sallyport)
        let ports = try [site.ready.control, site.ready.relay].map { try Endpoint($0).port }
        let flood = IdleFlood(from: "127.0.0.2", to: ports)
        try flood.open(count / 2)
        // Until then they wait in the kernel's queue, and every later connection would be accepted after them.
        #expect(try await eventually(within: .seconds(30)) { try descriptors(of: site) < 400 })
        async let rest: Void = flood.open(count / 2, pausing: .milliseconds(20))
        let beside = try await fetch(intranet, sallyport)
        try await rest
        // New connections: existing ones would not be affected.
        let activated = try await site.activate(site.link(), into: site.folder.file("second"))
        #expect(activated.status == 0, "\(activated.error)")
        let listed = try await site.admin("user", "list")
        #expect(listed.output.contains(Site.user))
        let status = try String(contentsOfFile: "/proc/\(site.gateway.identifier)/status", encoding: .utf8)
        print(
            "Flood: \(flood.count) idle connections; slowest of \(Self.fetches) fetches \(beside), alone \(alone);",
            status.split(separator: "\n").first { $0.hasPrefix("VmRSS") } ?? "")
        // The time is judged only in a long run on an idle machine; here, only that all loads were answered.
        if Soak.isOn { #expect(beside < max(alone * 3, .milliseconds(500))) }
        #expect(try await eventually(within: .seconds(30)) { try descriptors(of: site) < 400 })
        flood.close()
        await sallyport.shutdown()
    }

    private func descriptors(of site: Site) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(site.gateway.identifier)/fd").count
    }

    /// The slowest of `count` fetches, each by a session of its own, whose tunnel ends with it.
    private func fetch(_ intranet: Intranet, _ sallyport: Sallyport) async throws -> Duration {
        var slowest = Duration.zero
        for _ in 0..<Self.fetches {
            var configuration = SessionConfiguration()
            configuration.trust = try .systemAnd(pemFile: intranet.authorityFile)
            let session = sallyport.makeSession(configuration)
            let start = ContinuousClock.now
            let body = try await session.data(for: .get("\(intranet.url)/report.txt")).body
            slowest = max(slowest, .now - start)
            #expect(body.count == 22)
        }
        return slowest
    }
}

/// Connections without TLS from one loopback address that stay open as long as the other side allows.
private final class IdleFlood: Sendable {
    private let source: String
    private let ports: [UInt16]
    private let sockets = Lock<[Int32]>([])

    init(from source: String, to ports: [UInt16]) { (self.source, self.ports) = (source, ports) }

    deinit { close() }

    var count: Int { sockets.withLock { $0.count } }

    func open(_ count: Int) throws {
        for index in 0..<count {
            let socket = try connection(to: ports[index % ports.count])
            sockets.withLock { $0.append(socket) }
        }
    }

    /// The same with a pause behind each ten.
    func open(_ count: Int, pausing pause: Duration) async throws {
        for _ in 0..<(count / 10) {
            try open(10)
            try await Task.sleep(for: pause)
        }
    }

    func close() {
        for socket in sockets.withLock({ $0 }) { Glibc.close(socket) }
        sockets.withLock { $0 = [] }
    }

    private func connection(to port: UInt16) throws -> Int32 {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard socket >= 0 else { throw Unexpected("no socket: \(errno)") }
        var own = Self.address(source, 0)
        var other = Self.address("127.0.0.1", port)
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isConnected =
            withUnsafePointer(to: &own) { own in
                own.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, length) == 0 }
            }
            && withUnsafePointer(to: &other) { other in
                other.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(socket, $0, length) == 0 }
            }
        guard isConnected else {
            Glibc.close(socket)
            throw Unexpected("no connection: \(errno)")
        }
        return socket
    }

    private static func address(_ text: String, _ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr(text)
        return address
    }

    static func raiseDescriptorLimit(to count: Int) {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = min(limit.rlim_max, max(limit.rlim_cur, rlim_t(count)))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
