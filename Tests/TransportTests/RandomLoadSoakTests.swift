import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing
import TransportTestSupport

/// Many loads at once, each suspended, resumed, given another priority, read slowly, cancelled or discarded at any
/// moment: what is not given up arrives whole, however its answer ends. A few here, many in `make soak`.
@Suite(.timeLimit(.minutes(Soak.isOn ? 60 : 1)), .onBothEnginesAsUsual)
struct RandomLoadSoakTests {
    enum Kind: CaseIterable { case plain, secure, plainThroughRelay, secureThroughRelay }

    /// How many loads go on at once.
    private static let crowd = 60

    private let world: World
    private let relay: TestServer

    init() throws {
        world = try World()
        relay = try world.relay()
    }

    @Test(arguments: Kind.allCases)
    func whatIsNotGivenUpArrivesWhole(_ kind: Kind) async throws {
        let isSecure = kind == .secure || kind == .secureThroughRelay
        let server = try TestServer { [world] connection in
            guard isSecure else { return MixedServer.serve(.init(connection)) }
            if let tls = world.originTLS.accept(connection) { MixedServer.serve(.init(tls)) }
        }
        let isRelayed = kind == .plainThroughRelay || kind == .secureThroughRelay
        let path = try isRelayed ? world.path(relay) : ConnectionPath(trust: .only([world.origin.der]))
        for _ in 0..<max(1, (Soak.transfers ?? 0) / (Kind.allCases.count * Self.crowd)) {
            let transport = Transport()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<Self.crowd {
                    let load = try RandomLoad(server, isSecure)
                    group.addTask { await load.run(transport, via: path) }
                }
                try await group.waitForAll()
            }
            await transport.shutdown()
        }
    }
}

private struct RandomLoad: Sendable {
    private let request: ExchangeRequest
    private let control = TestControl()
    private let length = Int.random(in: 0...(Bool.random() ? 3000 : MixedServer.longest))
    private let framing = MixedServer.Framing.allCases.randomElement() ?? .length
    private let isCancelled = Int.random(in: 0..<4) == 0
    private let isDiscarded = Int.random(in: 0..<8) == 0

    init(_ server: TestServer, _ isSecure: Bool) throws {
        let isPost = Int.random(in: 0..<4) == 0
        let url = try server.url("/\(length)/\(framing.rawValue)", scheme: isSecure ? "https" : "http")
        var request = ExchangeRequest(isPost ? .post : .get, url, body: isPost ? Self.body() : nil)
        request.control = control
        if Bool.random() { request.collectsUpTo = .mebibytes(1) }
        self.request = request
    }

    private static func body() -> RequestBody {
        let content = MixedServer.content.prefix(Int.random(in: 0...300_000))
        guard Bool.random() else { return .bytes(Array(content)) }
        return .restartable { writer in
            var rest = content
            while !rest.isEmpty {
                let piece = rest.prefix(Int.random(in: 1...80_000))
                try await writer.write(Array(piece))
                rest = rest.dropFirst(piece.count)
                if Int.random(in: 0..<4) == 0 { try await pause() }
            }
        }
    }

    private static func pause() async throws { try await Task.sleep(for: .microseconds(Int.random(in: 0...3000))) }

    func run(_ transport: Transport, via path: ConnectionPath) async {
        let load = Task { try await read(transport.exchange(request, via: path).body) }
        for _ in 0..<Int.random(in: 0...12) {
            control.set(Bool.random(), priority: .random(in: 0...1))
            try? await Self.pause()
        }
        if isCancelled { load.cancel() }
        control.set(false)
        do {
            let body = try await load.value
            #expect(body == nil || body == Array(MixedServer.content.prefix(length)), "\(self)")
        } catch {
            #expect(mayFail(error), "\(error) \(self)")
        }
    }

    /// Nil for a body that is not wanted.
    private func read(_ body: ResponseBody) async throws -> [UInt8]? {
        if isDiscarded {
            body.discard()
            return nil
        }
        var bytes: [UInt8] = []
        while let chunk = try await body.next() {
            bytes += chunk
            if Int.random(in: 0..<6) == 0 { try? await Self.pause() }
        }
        return bytes
    }

    /// A request that must not be sent twice may meet a connection that its server is just closing.
    private func mayFail(_ error: any Error) -> Bool {
        isCancelled || request.method == .post && (error as? LoadError)?.code == .connectionLost
    }
}
