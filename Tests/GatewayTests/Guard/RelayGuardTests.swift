import Glibc
import Logging
import SallyportBase
import SallyportCore
import TestSupport
import Testing

@testable import SallyportGateway
@testable import SallyportSocketDiagnosis

/// A guard by itself: a policy that the test changes, and connections over the loopback to a server in the place of a
/// foreign relay.
@Suite(.timeLimit(.minutes(1)), .enabled(if: getuid() == 0, "takes CAP_NET_ADMIN"))
struct RelayGuardTests {
    private let policy = StubPolicy(.allowed(instance: "one", address: nil, mayBeLocal: false))
    private let relay: TestServer

    init() throws {
        relay = try TestServer { connection in while !connection.read(upTo: 1).isEmpty {} }
    }

    private func makeGuard(_ tunnels: Int = 10, at port: UInt16? = nil) throws -> RelayGuard {
        try RelayGuard(
            policy: policy, endingTunnelsAt: port ?? relay.port, maximumTunnels: tunnels,
            logger: Logger(label: "guard"))
    }

    private func question(_ client: GuardedClient, to target: String = "a.example:443") throws -> GuardQuestion {
        GuardQuestion(ends: client.ends, target: try Endpoint(target), certificate: [1])
    }

    @Test func anAllowedTunnelIsRememberedUntilItEnds() async throws {
        let relayGuard = try makeGuard()
        let client = try GuardedClient(relay.port)
        #expect(try await relayGuard.answer(question(client)) == .allowed(instance: "one"))
        #expect(await relayGuard.tunnelCount == 1)
        await relayGuard.forgetEnded()
        #expect(await relayGuard.tunnelCount == 1)
        client.close()
        #expect(
            try await eventually {
                await relayGuard.forgetEnded()
                return await relayGuard.tunnelCount == 0
            })
    }

    @Test func aChangeEndsWhatIsNoLongerAllowedWithinASecond() async throws {
        let relayGuard = try makeGuard()
        let client = try GuardedClient(relay.port)
        let running = Task { await relayGuard.run() }
        #expect(try await relayGuard.answer(question(client)) == .allowed(instance: "one"))
        relayGuard.policyChanged()
        #expect(try await !client.isReset(within: .milliseconds(200)))
        policy.set(StubPolicy.denied)
        relayGuard.policyChanged()
        #expect(try await client.isReset(within: Soak.second))
        #expect(try await eventually { await relayGuard.tunnelCount == 0 })
        running.cancel()
        await running.value
    }

    @Test func aTunnelOfAnotherConnectionStays() async throws {
        let relayGuard = try makeGuard()
        let (client, stranger) = (try GuardedClient(relay.port), try GuardedClient(relay.port))
        #expect(try await relayGuard.answer(question(client)) == .allowed(instance: "one"))
        policy.set(StubPolicy.denied)
        await relayGuard.reconsider()
        #expect(try await client.isReset(within: Soak.second))
        #expect(try await !stranger.isReset(within: .milliseconds(50)))
    }

    @Test func aRefusalIsThePolicys() async throws {
        let relayGuard = try makeGuard()
        let client = try GuardedClient(relay.port)
        policy.set(StubPolicy.denied)
        #expect(try await relayGuard.answer(question(client)) == .refused("Not for you."))
        #expect(await relayGuard.tunnelCount == 0)
    }

    @Test func anInstanceThatTheGuardCannotLookUpIsToTryAnotherRelay() async throws {
        let relayGuard = try makeGuard()
        let client = try GuardedClient(relay.port)
        policy.set(.unknown)
        #expect(try await relayGuard.answer(question(client)) == .refused("The certificate is not accepted."))
        policy.isCutOff.withLock { $0 = true }
        guard case .unavailable = await relayGuard.answer(try question(client)) else {
            throw TestFailure("It is judged.")
        }
    }

    @Test(arguments: ["127.0.0.1:80", "[::1]:80", "localhost:80", "169.254.169.254:80", "[::ffff:10.0.0.1]:80"])
    func anAddressIsJudgedAsAtTheGatewaysOwnRelay(target: String) async throws {
        let relayGuard = try makeGuard()
        let client = try GuardedClient(relay.port)
        guard case .refused = await relayGuard.answer(try question(client, to: target)) else {
            return #expect(Bool(false), "\(target) is allowed")
        }
        policy.set(.allowed(instance: "one", address: nil, mayBeLocal: true))
        #expect(try await relayGuard.answer(question(client, to: target)) == .allowed(instance: "one"))
    }

    @Test func whatTheKernelDoesNotKnowIsNotOpened() async throws {
        let relayGuard = try makeGuard()
        let client = try GuardedClient(relay.port)
        let known = try question(client)
        let other = SocketEnd(client.ends.remote.address, port: client.ends.remote.port ^ 1)
        let unknown = GuardQuestion(
            ends: SocketEnds(local: client.ends.local, remote: other), target: known.target, certificate: [1])
        guard case .failed = await relayGuard.answer(unknown) else { return #expect(Bool(false)) }
        let elsewhere = try makeGuard(at: relay.port ^ 1)
        guard case .failed = await elsewhere.answer(known) else { return #expect(Bool(false)) }
    }

    @Test func anInstanceHasALimit() async throws {
        let relayGuard = try makeGuard(1)
        let (one, two) = (try GuardedClient(relay.port), try GuardedClient(relay.port))
        #expect(try await relayGuard.answer(question(one)) == .allowed(instance: "one"))
        guard case .refused = await relayGuard.answer(try question(two)) else { return #expect(Bool(false)) }
        // Another question on the same connection is about the same tunnel.
        #expect(try await relayGuard.answer(question(one)) == .allowed(instance: "one"))
    }

    @Test func theTableHasALimit() throws {
        var table = TunnelTable(limit: 2, perInstance: 5)
        for port in UInt16(1)...3 {
            let ends = SocketEnds(local: SocketEnd(.v4(1), port: 1), remote: SocketEnd(.v4(2), port: port))
            let tunnel = GuardedTunnel(
                client: try #require(policy.client(presenting: [])), target: try Endpoint("a.example:1"),
                instance: "\(port)", connection: try #require(TCPConnection(searching: ends)))
            #expect((table.add(tunnel) == nil) == (port < 3))
        }
        #expect(table.tunnels.count == 2)
    }

    @Test func whatIsLeftOpenIsForgottenWithTheTunnel() throws {
        var table = TunnelTable(perInstance: 5)
        let ends = SocketEnds(local: SocketEnd(.v4(1), port: 1), remote: SocketEnd(.v4(2), port: 2))
        let tunnel = GuardedTunnel(
            client: try #require(policy.client(presenting: [])), target: try Endpoint("a.example:1"), instance: "one",
            connection: try #require(TCPConnection(searching: ends)))
        table.note(tunnel, isUnended: true)
        #expect(!table.hasUnended)
        #expect(table.add(tunnel) == nil)
        table.note(tunnel, isUnended: true)
        #expect(table.hasUnended)
        #expect(table.remove(tunnel) == true)
        #expect(!table.hasUnended)
    }

    @Test func verdictsAndEndsAreRecordedOnce() async throws {
        let recorder = AuditRecorder()
        let relayGuard = try RelayGuard(
            policy: policy, endingTunnelsAt: relay.port, maximumTunnels: 10, audit: recorder,
            logger: Logger(label: "guard"))
        let (one, two) = (try GuardedClient(relay.port), try GuardedClient(relay.port))
        #expect(try await relayGuard.answer(question(one)) == .allowed(instance: "one"))
        #expect(try await relayGuard.answer(question(two)) == .allowed(instance: "one"))
        one.close()
        let isForgotten = try await eventually {
            await relayGuard.forgetEnded()
            return await relayGuard.tunnelCount == 1
        }
        #expect(isForgotten)
        policy.set(StubPolicy.denied)
        await relayGuard.reconsider()
        await relayGuard.forgetEnded()
        #expect(try await relayGuard.answer(question(two)) == .refused("Not for you."))
        let events = recorder.take().events
        #expect(events.map { $0[.outcome] } == ["allowed", "allowed", "ended", "withdrawn", "refused"])
        #expect(events.map(\.kind) == [.connect, .connect, .tunnel, .tunnel, .connect])
        #expect(events.allSatisfy { $0[.action] == "guard" && $0[.instance] == "one" })
        #expect(events.allSatisfy { $0[.target] == "a.example:443" })
    }

    @Test func aStartEndsWhatWasThere() async throws {
        let relayGuard = try makeGuard()
        let (client, other) = (try GuardedClient(relay.port), try TestServer { $0.answerAll("") })
        let stranger = try GuardedClient(other.port)
        try await relayGuard.start()
        #expect(try await client.isReset(within: Soak.second))
        #expect(try await !stranger.isReset(within: .milliseconds(50)))
    }

    @Test func anEndEndsWhatWasAllowed() async throws {
        let relayGuard = try makeGuard()
        let client = try GuardedClient(relay.port)
        let running = Task { await relayGuard.run() }
        #expect(try await relayGuard.answer(question(client)) == .allowed(instance: "one"))
        running.cancel()
        await running.value
        #expect(try await client.isReset(within: Soak.second))
        guard case .unavailable = await relayGuard.answer(try question(client)) else { return #expect(Bool(false)) }
    }

    @Test func withoutAPortTunnelsAreJudgedOnly() async throws {
        let relayGuard = try RelayGuard(
            policy: policy, endingTunnelsAt: nil, maximumTunnels: 1, logger: Logger(label: "guard"))
        try await relayGuard.start()
        let client = try GuardedClient(relay.port)
        #expect(try await relayGuard.answer(question(client)) == .allowed(instance: "one"))
        policy.set(StubPolicy.denied)
        await relayGuard.reconsider()
        #expect(try await !client.isReset(within: .milliseconds(50)))
        #expect(await relayGuard.leavesTunnelsOpen)
    }

    @Test func aTunnelThatCannotBeEndedIsToldOfUntilItIsEnded() async throws {
        let isPermitted = Lock(false)
        let relayGuard = try RelayGuard(
            policy: policy, endingTunnelsAt: relay.port, maximumTunnels: 10, logger: Logger(label: "guard")
        ) { (sockets: inout SocketDiagnosis, connection: TCPConnection) throws(SocketDiagnosisError) in
            guard isPermitted.withLock({ $0 }) else { throw SocketDiagnosisError(EPERM) }
            try sockets.destroy(connection)
        }
        let client = try GuardedClient(relay.port)
        #expect(try await relayGuard.answer(question(client)) == .allowed(instance: "one"))
        #expect(await !relayGuard.leavesTunnelsOpen)
        policy.set(StubPolicy.denied)
        await relayGuard.reconsider()
        #expect(await relayGuard.leavesTunnelsOpen)
        isPermitted.withLock { $0 = true }
        await relayGuard.reconsider()
        #expect(try await client.isReset(within: Soak.second))
        #expect(await !relayGuard.leavesTunnelsOpen)
    }
}

/// A client's connection to a server in the place of a foreign relay.
final class GuardedClient {
    private var descriptor: Int32
    /// As the relay sees them.
    let ends: SocketEnds

    init(_ port: UInt16) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        address.sin_port = port.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let (descriptor, size) = (descriptor, length)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, size) | getsockname(descriptor, $0, &length)
            }
        }
        guard result == 0 else { throw Unexpected("connect: \(errno)") }
        let loopback = IPAddress.v4(0x7f00_0001)
        ends = SocketEnds(
            local: SocketEnd(loopback, port: port),
            remote: SocketEnd(loopback, port: UInt16(bigEndian: address.sin_port)))
    }

    deinit { close() }

    func close() {
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }

    /// Whether a read ends with an error within a time.
    func isReset(within limit: Duration) async throws -> Bool { try await eventually(within: limit) { isReset } }

    private var isReset: Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT)) < 0 && errno == ECONNRESET
    }
}
