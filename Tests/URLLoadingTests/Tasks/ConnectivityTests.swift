import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportURLLoading

/// Loads that wait for a connection.
@Suite(.timeLimit(.minutes(1))) struct ConnectivityTests {
    private final class Watcher: SessionDelegate {
        let count = Lock(0)
        func session(_ session: SecureSession, isWaitingForConnectivity request: LoadRequest) async {
            count.withLock { $0 += 1 }
        }
    }

    private struct Told: SessionDelegate {
        let tell: @Sendable (SecureSession) async -> Void
        func session(_ session: SecureSession, isWaitingForConnectivity request: LoadRequest) async {
            await tell(session)
        }
    }

    /// Fails so often, then answers.
    private func client(failing times: Int, with code: LoadError.Code) -> StubClient {
        let tries = Lock(0)
        return StubClient { _ throws(LoadError) in
            let number = tries.withLock { count in
                count += 1
                return count
            }
            guard number > times else { throw LoadError(code, at: .connect, "No connection.") }
            return .text("secure")
        }
    }

    private func system(
        _ client: StubClient, gate: StubGate = StubGate(), _ infrastructure: InfrastructureBoard? = nil
    ) -> URLLoadingSystem {
        URLLoadingSystem(
            gate: gate, client: client, system: LoadingEngine(client: client), infrastructure: infrastructure)
    }

    private var waiting: LoadRequest {
        get throws {
            var request = try LoadRequest.get("http://a.example/")
            request.options.waitsForConnectivity = true
            return request
        }
    }

    @Test(arguments: [LoadError.Code.cannotFindHost, .cannotConnect, .relayUnreachable])
    func aLoadThatFindsNoConnectionIsTriedAgain(_ code: LoadError.Code) async throws {
        let client = client(failing: 1, with: code)
        let watcher = Watcher()
        let body = try await system(client).session.data(for: waiting, delegate: watcher).body
        #expect(body == Array("secure".utf8) && client.requests.count == 2)
        #expect(watcher.count.withLock { $0 } == 1)
    }

    @Test(arguments: [LoadError.Code.connectionLost, .tlsFailed, .serverNotTrusted, .idleTimeout, .relayRefused])
    func otherFailuresAreNotWaitedFor(_ code: LoadError.Code) async throws {
        let client = client(failing: 1, with: code)
        let error = await #expect(throws: LoadError.self) { _ = try await system(client).session.data(for: waiting) }
        #expect(error?.code == code && client.requests.count == 1)
    }

    @Test func nothingWaitsUnlessItIsSaid() async throws {
        let client = client(failing: 1, with: .cannotConnect)
        let error = await #expect(throws: LoadError.self) {
            _ = try await system(client).session.data(for: .get("http://a.example/"))
        }
        #expect(error?.code == .cannotConnect)
    }

    @Test func theSessionSaysItForItsLoadsAndARequestOtherwise() async throws {
        var configuration = SessionConfiguration()
        configuration.waitsForConnectivity = true
        let patient = self.client(failing: 1, with: .cannotConnect)
        _ = try await system(patient).makeSession(configuration).data(for: .get("http://a.example/"))
        let client = client(failing: 1, with: .cannotConnect)
        var request = try waiting
        request.options.waitsForConnectivity = false
        let session = system(client).makeSession(configuration)
        await #expect(throws: LoadError(.cannotConnect, "")) { _ = try await session.data(for: request) }
    }

    @Test func theReturnOfTheInfrastructureEndsTheWaitingForARelay() async throws {
        let board = InfrastructureBoard(.unreachable)
        let client = client(failing: 1, with: .relayUnreachable)
        let task = system(client, board).session.dataTask(for: try waiting)
        let start = ContinuousClock.now
        task.resume()
        #expect(try await eventually { task.state == .waiting })
        try await Task.sleep(for: .milliseconds(50))
        #expect(client.requests.count == 1)
        board.set(.reachable)
        #expect(try await task.value.body == Array("secure".utf8))
        // Not the pause without it, a minute.
        #expect(ContinuousClock.now - start < .seconds(20))
        #expect(task.state == .completed)
    }

    @Test func theResourceTimeoutEndsTheWaiting() async throws {
        let client = client(failing: .max, with: .relayUnreachable)
        var request = try waiting
        // Time enough for the first attempt.
        request.options.resourceTimeout = .seconds(2)
        let system = system(client, InfrastructureBoard(.unreachable))
        let error = await #expect(throws: LoadError.self) { _ = try await system.session.data(for: request) }
        #expect(error?.code == .resourceTimeout)
        #expect((error?.underlying as? LoadError)?.code == .relayUnreachable)
    }

    enum End: CaseIterable { case withdrawn, invalidated, cancelled, shutDown }

    @Test(arguments: End.allCases) func waitingLoadsEndWithTheOthers(_ end: End) async throws {
        let gate = StubGate()
        let system = system(
            client(failing: .max, with: .relayUnreachable), gate: gate, InfrastructureBoard(.unreachable))
        let session = system.makeSession()
        let task = session.dataTask(for: try waiting)
        task.resume()
        #expect(try await eventually { task.state == .waiting })
        try await Task.sleep(for: .milliseconds(50))
        switch end {
        case .withdrawn: gate.withdraw(.blocked)
        case .invalidated: session.invalidate()
        case .cancelled: task.cancel()
        case .shutDown: await system.shutdown()
        }
        let expected: LoadError.Code =
            switch end {
            case .withdrawn: .withdrawn
            case .invalidated, .shutDown: .sessionInvalidated
            case .cancelled: .cancelled
            }
        let error = await #expect(throws: LoadError.self) { _ = try await task.value }
        #expect(error?.code == expected)
    }

    /// Access or the session ends before the load is known as one that waits. The pause before the next try is a
    /// minute.
    @Test(arguments: [End.withdrawn, .invalidated, .shutDown])
    func anEndJustBeforeTheWaitingEndsTheLoadAtOnce(_ end: End) async throws {
        let gate = StubGate()
        let ending = Lock<(@Sendable () async -> Void)?>(nil)
        let client = StubClient { _ throws(LoadError) in
            await ending.withLock { $0 }?()
            throw LoadError(.relayUnreachable, at: .connect, "No connection.")
        }
        let system = system(client, gate: gate, InfrastructureBoard(.unreachable))
        let session = system.makeSession()
        let finish: @Sendable () async -> Void = {
            switch end {
            case .withdrawn: gate.withdraw(.blocked)
            case .invalidated: session.invalidate()
            case .shutDown: await system.shutdown()
            case .cancelled: break
            }
        }
        ending.withLock { $0 = finish }
        let (request, start) = (try waiting, ContinuousClock.now)
        let error = await #expect(throws: LoadError.self) { _ = try await session.data(for: request) }
        #expect(error?.code == (end == .withdrawn ? .withdrawn : .sessionInvalidated))
        #expect(start.duration(to: .now) < .seconds(20))
        #expect(client.requests.count == 1)
        ending.withLock { $0 = nil }
    }

    @Test func aSessionThatEndsWhileTheDelegateIsToldEndsTheLoad() async throws {
        let system = system(client(failing: .max, with: .relayUnreachable), InfrastructureBoard(.unreachable))
        let session = system.makeSession(delegate: Told { $0.invalidate() })
        let request = try waiting
        let error = await #expect(throws: LoadError.self) { _ = try await session.data(for: request) }
        #expect(error?.code == .sessionInvalidated)
    }

    @Test func theTimeForTheLoadHoldsWhileTheDelegateIsTold() async throws {
        let system = system(client(failing: .max, with: .relayUnreachable), InfrastructureBoard(.unreachable))
        let session = system.makeSession(delegate: Told { _ in try? await Task.sleep(for: .seconds(50)) })
        var limited = try waiting
        limited.options.resourceTimeout = .seconds(1)
        let request = limited
        let start = ContinuousClock.now
        let error = await #expect(throws: LoadError.self) { _ = try await session.data(for: request) }
        #expect(error?.code == .resourceTimeout)
        #expect(start.duration(to: .now) < .seconds(20))
    }

    @Test func pausesGrowToALimit() {
        let rule = ConnectivityRule()
        let pauses = (0..<8).map { rule.pause(after: $0, .cannotConnect, .unreachable) }
        #expect(pauses.map(\.longest) == [1, 2, 4, 8, 16, 30, 30, 30].map { .seconds($0) })
        #expect(pauses.allSatisfy { !$0.endsWithInfrastructure })
        #expect(rule.pause(after: .max, .cannotConnect, .unknown).longest == .seconds(30))
        #expect(rule.pause(after: 0, .relayUnreachable, .unreachable).endsWithInfrastructure)
        #expect(!rule.pause(after: 0, .relayUnreachable, .reachable).endsWithInfrastructure)
        #expect(!rule.pause(after: 0, .relayUnreachable, .unknown).endsWithInfrastructure)
    }
}
