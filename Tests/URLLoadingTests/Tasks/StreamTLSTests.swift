import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportConnecting
@testable import SallyportURLLoading

/// What a session's delegate is asked when TLS begins on an open stream: the handshake is held meanwhile, since no
/// other connection can be made.
@Suite(.timeLimit(.minutes(1))) struct StreamTLSTests {
    private let authority: TestAuthority
    private let loading = URLLoadingSystem(gate: StubGate())

    init() throws { authority = try TestAuthority() }

    /// Begins TLS at once, and sends a word.
    private func server(requiring clients: TestAuthority? = nil, seen: Lock<[UInt8]?> = Lock(nil)) throws -> TestServer
    {
        let tls = try TestTLS(authority.server(addresses: [.v4(0x7f00_0001)]), requiring: clients)
        return try TestServer { connection in
            guard let client = tls.accept(connection) else { return }
            seen.withLock { $0 = client.peerCertificate }
            client.write("in TLS")
            _ = client.read()
        }
    }

    private func session(
        _ delegate: AskedDelegate, isTrusted: Bool = false, resourceTimeout: Duration = .seconds(60)
    ) throws -> SecureSession {
        var configuration = SessionConfiguration()
        if isTrusted { configuration.trust = try .only([authority.der]) }
        configuration.resourceTimeout = resourceTimeout
        return loading.makeSession(configuration, delegate: delegate)
    }

    @Test func aHandshakeWaitsForTheAppsAnswer() async throws {
        let server = try server()
        let delegate = AskedDelegate(session: { _ in
            try? await Task.sleep(for: .seconds(4))
            return .trust(.forSession)
        })
        let session = try session(delegate)
        for _ in 0..<2 {
            let stream = try await session.streamTask(to: server.endpoint)
            // Less than the app takes to answer: its time does not count.
            try await stream.startTLS(TLSStart(timeout: .seconds(3)))
            #expect(try await stream.read() == Array("in TLS".utf8))
            stream.close()
        }
        #expect(server.acceptedConnections == 2 && delegate.asked.count == 1)
        #expect(delegate.evaluations.first?.failure?.reason == .unknownAuthority)
        #expect(delegate.evaluations.first?.connection.remoteAddress == "127.0.0.1")
    }

    @Test(arguments: [ChallengeDisposition.rejectProtectionSpace, .cancel])
    func anAppRejectsAChainThatVerifies(_ disposition: ChallengeDisposition) async throws {
        let server = try server()
        let session = try session(AskedDelegate(disposition), isTrusted: true)
        let stream = try await session.streamTask(to: server.endpoint)
        let error = await #expect(throws: LoadError.self) { try await stream.startTLS() }
        #expect(error?.code == (disposition == .cancel ? .authenticationCancelled : .serverNotTrusted))
        #expect(try await eventually { server.openConnections == 0 })
        #expect(!stream.isSecure)
    }

    @Test func anAppThatLeavesItToVerificationGetsItsVerdict() async throws {
        let server = try server()
        for isTrusted in [true, false] {
            let session = try session(AskedDelegate(.performDefaultHandling), isTrusted: isTrusted)
            let stream = try await session.streamTask(to: server.endpoint)
            do throws(LoadError) {
                try await stream.startTLS()
                #expect(isTrusted)
            } catch {
                #expect(!isTrusted && error.code == .serverNotTrusted)
            }
        }
    }

    @Test func aClientCertificateIsAskedForInTheMidstOfTheHandshake() async throws {
        let clients = try TestAuthority(name: "Clients")
        let seen = Lock<[UInt8]?>(nil)
        let server = try server(requiring: clients, seen: seen)
        let identity = try clients.client()
        let showing = try identity.clientIdentity
        let delegate = AskedDelegate(session: { challenge in
            challenge.certificateRequest == nil ? .performDefaultHandling : .present(showing)
        })
        let session = try session(delegate, isTrusted: true)
        let stream = try await session.streamTask(to: server.endpoint)
        try await stream.startTLS()
        #expect(try await stream.read() == Array("in TLS".utf8))
        let shown = try identity.der
        #expect(seen.withLock { $0 } == shown && server.acceptedConnections == 1)
        #expect(delegate.asked.count == 2)
    }

    /// The app does not look whether its task was cancelled.
    @Test func aWithdrawalWhileTheAppThinksEndsIt() async throws {
        let gate = StubGate()
        let loading = URLLoadingSystem(gate: gate)
        let server = try server()
        let answer = Signal()
        let delegate = AskedDelegate(session: { _ in
            await answer.wait()
            return .trust(.forSession)
        })
        var configuration = SessionConfiguration()
        configuration.resourceTimeout = .seconds(20)
        let session = loading.makeSession(configuration, delegate: delegate)
        let stream = try await session.streamTask(to: server.endpoint)
        let securing = Task { try await stream.startTLS() }
        #expect(try await eventually { delegate.asked.count == 1 })
        gate.withdraw(.wiped)
        await #expect(throws: LoadError(.withdrawn, "")) { try await securing.value }
        #expect(try await eventually { server.openConnections == 0 })
        answer.fire()
    }

    /// A reader may wait meanwhile, and to it no byte comes.
    @Test func theIdleTimeStandsStillWhileTheAppThinks() async throws {
        let server = try server()
        let delegate = AskedDelegate(session: { _ in
            try? await Task.sleep(for: .seconds(5))
            return .trust(.forSession)
        })
        let stream = try await session(delegate).streamTask(to: server.endpoint, idleTimeout: .seconds(2))
        let securing = Task { try await stream.startTLS() }
        #expect(try await eventually { delegate.asked.count == 1 })
        let word = Task { try await stream.read() }
        try await securing.value
        #expect(try await word.value == Array("in TLS".utf8))
    }

    /// There is no other connection on which a stored decision could be taken.
    @Test func aChainThatIsTrustedForGoodIsTakenAtTheFirstTry() async throws {
        let (server, store) = (try server(), StubDecisionStore())
        let first = URLLoadingSystem(gate: StubGate(), decisions: store)
        let asking = try await first.makeSession(delegate: AskedDelegate(.trust(.permanent)))
            .streamTask(to: server.endpoint)
        try await asking.startTLS()
        let second = URLLoadingSystem(gate: StubGate(), decisions: store)
        let stream = try await second.makeSession().streamTask(to: server.endpoint)
        try await stream.startTLS()
        #expect(try await stream.read() == Array("in TLS".utf8))
    }

    @Test(arguments: [true, false])
    func withoutAnAppAndAStoredDecisionVerificationDecides(_ isTrusted: Bool) async throws {
        let server = try server()
        let loading = URLLoadingSystem(gate: StubGate(), decisions: StubDecisionStore())
        var configuration = SessionConfiguration()
        if isTrusted { configuration.trust = try .only([authority.der]) }
        let stream = try await loading.makeSession(configuration).streamTask(to: server.endpoint)
        let error: LoadError?
        do throws(LoadError) {
            try await stream.startTLS()
            error = nil
        } catch let failure {
            error = failure
        }
        #expect(error?.code == (isTrusted ? nil : .serverNotTrusted))
    }

    @Test func theTimeForTheStreamEndsTheOpeningToo() async throws {
        let server = try server()
        let delegate = AskedDelegate(session: { _ in
            try? await Task.sleep(for: .seconds(40))
            return .cancel
        })
        let session = try session(delegate)
        let start = ContinuousClock.now
        await #expect(throws: LoadError(.resourceTimeout, "")) {
            _ = try await session.streamTask(
                to: server.endpoint, isSecure: true, resourceTimeout: .seconds(3))
        }
        #expect(start.duration(to: .now) < .seconds(20) && delegate.asked.count == 1)
    }

    @Test func anAnswerThatDoesNotComeInTimeEndsIt() async throws {
        let server = try server()
        let delegate = AskedDelegate(session: { _ in
            try? await Task.sleep(for: .seconds(30))
            return .cancel
        })
        // Time enough for the connection.
        let session = try session(delegate, resourceTimeout: .seconds(3))
        let stream = try await session.streamTask(to: server.endpoint)
        await #expect(throws: LoadError(.resourceTimeout, "")) { try await stream.startTLS() }
        #expect(try await eventually { server.openConnections == 0 })
    }
}
