import Glibc
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing
import TransportTestSupport

/// A cluster of one relay, which fails at some step, where the caller has another cluster to go on with.
@Suite(.timeLimit(.minutes(1)), .onBothEnginesAsUsual)
struct OtherClusterTests {
    private let world: World
    private let transport = Transport()
    private let origin: TestServer

    init() throws {
        world = try World()
        origin = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
    }

    private func failure(
        _ method: HTTPRequest.Method = .get, through relay: TestServer, hasOtherCluster: Bool = true
    ) async throws -> LoadError? {
        var request = ExchangeRequest(method, try origin.url(), body: method == .post ? .bytes([1]) : nil)
        request.hasOtherCluster = hasOtherCluster
        request.deadline = .now + .seconds(20)
        let path = ConnectionPath(relay: try world.access(to: [relay.port]))
        return await #expect(throws: LoadError.self) { try await transport.exchange(request, via: path) }
    }

    /// Answers CONNECT, reads the request, and then does as it is told.
    private func opening(_ goesOn: @escaping @Sendable (TestConnection) -> Void) throws -> TestServer {
        let isFirst = Lock(true)
        return try TestServer { [world] connection in
            let isFirst = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            guard isFirst else { return goesOn(connection) }
            guard let client = world.relayTLS.accept(connection), client.readHead() != nil else { return }
            client.write("HTTP/1.1 200 OK\r\n\r\n")
            _ = client.read()
            goesOn(connection)
        }
    }

    @Test func aRelayThatDoesNotShakeHandsIsLeftSoon() async throws {
        let silent = try TestServer { $0.awaitEnd() }
        let start = ContinuousClock.now
        #expect(try await failure(.post, through: silent)?.code == .relayUnreachable)
        #expect(ContinuousClock.now - start < .seconds(8))
    }

    @Test func aBrokenConnectionLeadsToTheOtherClusterIfTheRequestMayBeRepeated() async throws {
        #expect(try await failure(through: opening { $0.reset() })?.code == .relayUnreachable)
        #expect(try await failure(.post, through: opening { $0.reset() })?.code == .connectionLost)
        let alone = try await failure(through: opening { $0.reset() }, hasOtherCluster: false)
        #expect(alone?.code == .connectionLost, "\(String(describing: alone))")
    }

    /// As a machine whose cable was pulled.
    @Test func aRelayThatFellSilentIsLeftWhenItDoesNotSayThatItIsThere() async throws {
        let start = ContinuousClock.now
        let error = try await failure(through: opening { $0.awaitEnd() })
        #expect(error?.code == .relayUnreachable, "\(String(describing: error))")
        #expect(ContinuousClock.now - start < .seconds(10))
    }

    @Test func aStreamIsNotWaitedForEither() async throws {
        let silent = try TestServer { $0.awaitEnd() }
        var request = TunnelRequest(to: try #require(try origin.url().endpoint), isSecure: false)
        request.hasOtherCluster = true
        let path = ConnectionPath(relay: try world.access(to: [silent.port]))
        let start = ContinuousClock.now
        let error = await #expect(throws: LoadError.self) { try await transport.tunnel(request, via: path) }
        #expect(error?.code == .relayUnreachable && ContinuousClock.now - start < .seconds(8))
    }
}
