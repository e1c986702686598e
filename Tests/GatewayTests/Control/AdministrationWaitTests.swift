import SallyportSecureStore
import TestSupport
import Testing

@testable import SallyportGateway

/// Commands for a directory that a process uses without listening: a gateway that starts or ends.
@Suite(.timeLimit(.minutes(1))) struct AdministrationWaitTests {
    private let directory: TemporaryDirectory
    private var path: String { directory.file("gateway") }
    private var protector: any KeyProtector { .keyFile(directory.file("key")) }

    init() async throws {
        directory = try TemporaryDirectory()
        try await GatewayDirectory.initialize(path, name: "localhost", protectedBy: protector)
    }

    private func client(_ patience: Duration) -> AdministrationClient {
        AdministrationClient(data: path, protectedBy: protector, patience: patience)
    }

    @Test func aCommandWaitsUntilTheDirectoryIsFree() async throws {
        let data = try await GatewayDirectory.open(path, protectedBy: protector)
        async let reply = client(.seconds(30)).perform(.listUsers)
        try await Task.sleep(for: .milliseconds(200))
        await data.close()
        #expect(try await reply == .users([]))
    }

    @Test func aGatewayThatStartsWaitsForACommandThatIsCarriedOut() async throws {
        let data = try await GatewayDirectory.open(path, protectedBy: protector)
        async let opened = client(.seconds(30)).open()
        try await Task.sleep(for: .milliseconds(200))
        await data.close()
        await (try await opened).close()
    }

    @Test func aDirectoryThatStaysInUseIsSaidToBe() async throws {
        let data = try await GatewayDirectory.open(path, protectedBy: protector)
        let client = client(.milliseconds(100))
        await #expect(throws: GatewayError(.inUse, "")) { try await client.perform(.listUsers) }
        await #expect(throws: GatewayError(.inUse, "")) { try await client.open() }
        await data.close()
    }

    /// With a wait, the test would take ten minutes.
    @Test func besideAGatewayThatListensASecondOneIsRefusedAtOnce() async throws {
        try await ControlFixture.with { fixture in
            let path = fixture.data.path
            let client = AdministrationClient(
                data: path, protectedBy: .keyFile("\(path)/key"), patience: .seconds(600))
            await #expect(throws: GatewayError(.inUse, "")) { try await client.open() }
        }
    }

    @Test func theWaitCanBeCancelled() async throws {
        let data = try await GatewayDirectory.open(path, protectedBy: protector)
        let client = client(.seconds(600))
        let waiting = Task { try await client.perform(.listUsers) }
        try await Task.sleep(for: .milliseconds(100))
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        await data.close()
    }
}
