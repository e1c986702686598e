import Glibc
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing

/// How many connections an origin gets, and what becomes of those that wait for one.
@Suite(.timeLimit(.minutes(1)))
struct ConnectionLimitTests {
    private let transport = Transport()
    private let path = ConnectionPath()

    /// A server that answers when the gate opens, and counts how many requests it has at once.
    private final class Counter: Sendable {
        private let state = Lock((now: 0, most: 0, isOpen: false))
        var most: Int { state.withLock { $0.most } }
        var now: Int { state.withLock { $0.now } }

        func open() { state.withLock { $0.isOpen = true } }

        func serve(_ readHead: () -> String?, _ write: (String) -> Void) {
            while readHead() != nil {
                state.withLock { state in
                    state.now += 1
                    state.most = max(state.most, state.now)
                }
                for _ in 0..<5000 where !state.withLock({ $0.isOpen }) { usleep(2000) }
                state.withLock { $0.now -= 1 }
                write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
    }

    private func server(_ counter: Counter) throws -> TestServer {
        try TestServer { connection in
            counter.serve({ connection.readHead() }, { connection.write($0) })
        }
    }

    /// A server that answers once its counter is opened.
    private func busyServer() throws -> (counter: Counter, server: TestServer, url: RequestURL) {
        let counter = Counter()
        let server = try server(counter)
        return (counter, server, try server.url())
    }

    private func get(_ url: RequestURL, via path: ConnectionPath, limit: Int = 6) async throws {
        var request = ExchangeRequest(.get, url)
        request.connectionsPerOrigin = limit
        let response = try await transport.exchange(request, via: path)
        #expect(try await response.body.collect(upTo: .bytes(2)) == Array("ok".utf8))
    }

    @Test(arguments: [1, 6, 20])
    func noMoreAtOnceThanTheLimitAndAllInTheEnd(_ limit: Int) async throws {
        let (counter, server, url) = try busyServer()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<30 { group.addTask { try await get(url, via: path, limit: limit) } }
            #expect(try await eventually { counter.now == limit })
            // Time for one more than the limit, were there one.
            try await Task.sleep(for: .milliseconds(50))
            counter.open()
            try await group.waitForAll()
        }
        #expect(counter.most == limit)
        #expect(server.acceptedConnections == limit)
    }

    @Test func sixIsTheDefault() throws {
        #expect(try ExchangeRequest(.get, RequestURL("http://a.example/")).connectionsPerOrigin == 6)
    }

    @Test func originsAreCountedApartThoughTheRelayIsOne() async throws {
        let world = try World()
        let counters = [Counter(), Counter()]
        let servers = try counters.map(server)
        let relay = try world.relay()
        let relayed = try world.path(relay)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for url in try servers.map({ try $0.url() }) {
                for _ in 0..<10 { group.addTask { try await get(url, via: relayed) } }
            }
            #expect(try await eventually { counters.allSatisfy { $0.now == 6 } })
            for counter in counters { counter.open() }
            try await group.waitForAll()
        }
        #expect(counters.map(\.most) == [6, 6])
        #expect(relay.acceptedConnections == 12)
    }

    @Test func waitingEndsWithItsTaskAndLeavesThePlace() async throws {
        let (counter, server, url) = try busyServer()
        let first = Task { try await get(url, via: path, limit: 1) }
        #expect(try await eventually { counter.now == 1 })
        let waiting = (0..<3).map { _ in Task { try await get(url, via: path, limit: 1) } }
        try await Task.sleep(for: .milliseconds(20))
        waiting[0].cancel()
        let error = await #expect(throws: LoadError.self) { try await waiting[0].value }
        #expect(error?.code == .cancelled)
        #expect(counter.now == 1)
        counter.open()
        try await first.value
        for task in waiting.dropFirst() { try await task.value }
        #expect(server.acceptedConnections == 1)
    }

    @Test func waitingCountsForTheWholeTimeAndNotAsIdle() async throws {
        let (counter, server, url) = try busyServer()
        let first = Task { try await get(url, via: path, limit: 1) }
        #expect(try await eventually { counter.now == 1 })
        var request = ExchangeRequest(.get, url)
        request.connectionsPerOrigin = 1
        request.idleTimeout = .milliseconds(50)
        request.connectTimeout = .milliseconds(50)
        let start = ContinuousClock.now
        request.deadline = .now + .milliseconds(300)
        let error = await #expect(throws: LoadError.self) { try await transport.exchange(request, via: path) }
        #expect(error?.code == .resourceTimeout && error?.step == .routing, "\(String(describing: error))")
        #expect(ContinuousClock.now - start >= .milliseconds(290))
        counter.open()
        try await first.value
        #expect(server.acceptedConnections == 1)
    }

    @Test func waitingExchangesAreEndedWithTheOthers() async throws {
        let (counter, server, url) = try busyServer()
        let tasks = (0..<3).map { _ in Task { try await get(url, via: path, limit: 1) } }
        #expect(try await eventually { counter.now == 1 })
        transport.endExchanges(with: LoadError(.withdrawn, "Withdrawn.")) { _ in true }
        for task in tasks {
            let error = await #expect(throws: LoadError.self) { try await task.value }
            #expect(error?.code == .withdrawn)
        }
        counter.open()
        #expect(server.acceptedConnections == 1)
    }

    @Test func anExchangeThatFailsGivesItsPlaceUp() async throws {
        let server = try TestServer { _ = $0.readHead() }
        let url = try server.url()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    await #expect(throws: LoadError.self) { try await get(url, via: path, limit: 2) }
                }
            }
            try await group.waitForAll()
        }
    }

    /// A handshake that never ends does not keep other exchanges from the origin.
    @Test(arguments: [HTTPVersions.automatic, .http1Only])
    func exchangesDoNotWaitForAConnectionThatIsNotShared(_ protocols: HTTPVersions) async throws {
        let server = try TestServer { $0.awaitEnd() }
        let endpoint = try server.endpoint
        var request = try ExchangeRequest(.get, server.url(scheme: "https"))
        request.protocols = protocols
        let ready = request
        let exchanges = (0..<3).map { _ in Task { _ = try await transport.exchange(ready, via: path) } }
        let tunnel = Task {
            _ = try await transport.tunnel(TunnelRequest(to: endpoint, isSecure: true), via: path)
        }
        #expect(try await eventually { server.acceptedConnections == 4 })
        for task in exchanges + [tunnel] { task.cancel() }
    }

    @Test func tellsHowLongItWaited() async throws {
        let (counter, server, url) = try busyServer()
        let first = Task { try await get(url, via: path, limit: 1) }
        #expect(try await eventually { counter.now == 1 })
        var request = ExchangeRequest(.get, url)
        request.connectionsPerOrigin = 1
        let second = Task { try await transport.exchange(request, via: path) }
        // Longer than is expected: the second one may begin late.
        try await Task.sleep(for: .seconds(1))
        counter.open()
        try await first.value
        let timing = try await second.value.facts.timing
        #expect(timing.queue >= .milliseconds(90) && timing.firstByte >= timing.queue)
        #expect(server.acceptedConnections == 1)
    }
}
