import Foundation
import Logging
import SallyportCore
import SallyportSecureStore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// A gateway in this process, through its public API.
@Suite(.timeLimit(.minutes(1))) struct GatewayTests {
    /// Nothing is left that would have to be removed before the next try.
    @Test func aGatewayThatCannotBeMadeLeavesNoDirectory() async throws {
        let folder = try TemporaryDirectory()
        let protector = KeyFileProtector.keyFile(folder.file("gateway/key"))
        await #expect(throws: GatewayError(.invalid, "")) {
            try await GatewayDirectory.initialize(folder.file("gateway"), name: "a b", protectedBy: protector)
        }
        await #expect(throws: GatewayError(.unreachable, "")) {
            try await GatewayDirectory.initialize(
                folder.file("gateway"), name: "localhost", protectedBy: protector, database: "postgresql:",
                through: { _ in throw GatewayError(.unreachable, "The database is away.") })
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    /// A data folder, and gateways on it.
    struct GatewayFolder: Sendable {
        let directory: TemporaryDirectory

        init() async throws {
            directory = try TemporaryDirectory()
            try await Gateway.create(at: path, name: "localhost", protectedBy: .keyFile(key))
        }

        /// The folder exists as long as `body` runs.
        static func with(_ body: (GatewayFolder) async throws -> Void) async throws { try await body(GatewayFolder()) }

        private var path: String { directory.file("gateway") }
        private var key: String { directory.file("gateway.key") }

        func gateway(
            _ configuration: Gateway.Configuration = .loopback
        ) async throws(GatewayError) -> Gateway {
            try await Gateway(
                at: path, protectedBy: .keyFile(key), configuration: configuration,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        }

        /// Runs a gateway as long as `body` runs.
        func running(_ body: (Gateway, Gateway.Listeners) async throws -> Void) async throws {
            let gateway = try await gateway()
            async let running: Void = gateway.run()
            try await body(gateway, gateway.listeners())
            await gateway.shutdown()
            try await running
        }
    }

    @Test func aGatewayIsMadeRunAdministeredAndShutDown() async throws {
        try await GatewayFolder.with { folder in
            try await folder.running { gateway, listeners in
                #expect(listeners.controlPort > 0 && listeners.relayPort > 0 && listeners.verificationPort == nil)
                try await gateway.addApplication("com.example.report", version: "1.0.0.0")
                try await gateway.addUser("ann")
                try await gateway.entitle("ann", to: "com.example.report", version: "1.0.0.0")
                try await gateway.addServer(Endpoint("db.corp.example:5432"), of: "com.example.report", priority: 1)
                try await gateway.setRoute(of: "corp.example", to: .relay, ports: [443])
                let link = try await ActivationLink(gateway.invite("ann", to: "com.example.report"))
                #expect(link.user == "ann" && Int(link.gateway.port) == listeners.controlPort)
                #expect(try await gateway.instances().isEmpty)
                #expect(try await gateway.listeners() == listeners)
            }
            // The declaration is stored in the folder.
            let again = try await folder.gateway()
            let declaration = try await again.declaration()
            #expect(declaration.contains("ann") && declaration.contains("db.corp.example:5432"))
            #expect(try await again.apply(declaration).isEmpty)
            await again.shutdown()
        }
    }

    @Test func anEndedGatewayRefusesAndLetsGoOfItsFolder() async throws {
        try await GatewayFolder.with { folder in
            let gateway = try await folder.gateway()
            await #expect(throws: GatewayError(.inUse, "")) { _ = try await folder.gateway() }
            await gateway.shutdown()
            await gateway.shutdown()
            await #expect(throws: GatewayError(.ended, "")) { try await gateway.addUser("ann") }
            await #expect(throws: GatewayError(.ended, "")) { try await gateway.listeners() }
            await #expect(throws: GatewayError(.ended, "")) { try await gateway.run() }
            try await folder.running { _, _ in }
        }
    }

    /// A shutdown may come before any of the gateway's parts has started.
    @Test(arguments: 0..<4) func aShutdownAtTheStartIsNotLost(_ turns: Int) async throws {
        try await GatewayFolder.with { folder in
            let gateway = try await folder.gateway()
            async let running: Void = gateway.run()
            for _ in 0..<turns { await Task.yield() }
            await gateway.shutdown()
            // If it came before `run()`, then `run()` finds the gateway closed.
            do { try await running } catch { #expect((error as? GatewayError)?.code == .ended) }
            await #expect(throws: GatewayError(.ended, "")) { try await gateway.declaration() }
        }
    }

    @Test func waitingForAGatewayThatCannotStartThrows() async throws {
        try await GatewayFolder.with { folder in
            try await folder.running { _, listeners in
                var control = Gateway.Configuration.loopback
                control.controlPort = listeners.controlPort
                var relay = Gateway.Configuration.loopback
                relay.relayPort = listeners.relayPort
                for configuration in [control, relay] { try await Self.expectTaken(configuration) }
            }
        }
    }

    private static func expectTaken(_ configuration: Gateway.Configuration) async throws {
        try await GatewayFolder.with { folder in
            let gateway = try await folder.gateway(configuration)
            async let running: Void = gateway.run()
            await #expect(throws: GatewayError(.cannotBind, "")) { try await gateway.listeners() }
            do { try await running } catch { #expect((error as? GatewayError)?.code == .cannotBind) }
            await gateway.shutdown()
        }
    }

    @Test func aTaskThatWaitsForAGatewayCanBeCancelled() async throws {
        try await GatewayFolder.with { folder in
            let gateway = try await folder.gateway()
            let waiting = Task { try await gateway.listeners() }
            waiting.cancel()
            await #expect(throws: GatewayError(.cancelled, "")) { try await waiting.value }
            await gateway.shutdown()
        }
    }

    @Test func aCancelledRunEndsTheGateway() async throws {
        try await GatewayFolder.with { folder in
            let gateway = try await folder.gateway()
            let running = Task { try await gateway.run() }
            _ = try await gateway.listeners()
            running.cancel()
            try await running.value
            await #expect(throws: GatewayError(.ended, "")) { try await gateway.instances() }
        }
    }

    @Test func everyErrorHasACode() async throws {
        try await GatewayFolder.with { folder in
            await #expect(throws: GatewayError(.alreadyInitialized, "")) {
                try await Gateway.create(
                    at: folder.directory.file("gateway"), name: "localhost",
                    protectedBy: .keyFile(folder.directory.file("gateway.key")))
            }
            await #expect(throws: GatewayError(.notInitialized, "")) {
                _ = try await Gateway(
                    at: folder.directory.file("none"), protectedBy: .keyFile(folder.directory.file("none.key")))
            }
            let wrong = await #expect(throws: GatewayError(.store, "")) {
                _ = try await Gateway(
                    at: folder.directory.file("gateway"),
                    protectedBy: .keyFile(folder.directory.file("other.key")))
            }
            #expect(wrong?.underlying is StoreError)
            let gateway = try await folder.gateway()
            await #expect(throws: GatewayError(.notFound, "")) {
                try await gateway.invite("ann", to: "com.example.report")
            }
            await #expect(throws: GatewayError(.invalid, "")) {
                try await gateway.addApplication("report", version: "x")
            }
            await #expect(throws: GatewayError(.notFound, "")) { try await gateway.withdraw("none", .block) }
            try await gateway.addUser("ann")
            await #expect(throws: GatewayError(.exists, "")) { try await gateway.addUser("ann") }
            await gateway.shutdown()
        }
    }

    @Test func endingInstancesNeedsConfirmation() async throws {
        let fixture = try await DataFixture()
        _ = try await fixture.enroll(fixture.link(), DataFixture.request())
        let gateway = Gateway(
            data: fixture.data, at: fixture.path, configuration: .loopback, logger: Logger(label: "test"))
        let instance = try #require(await gateway.instances().first)
        #expect(instance.user == "ann" && instance.status == "active")
        await #expect(throws: GatewayError(.needsConfirmation, "")) { try await gateway.removeUser("ann") }
        try await gateway.withdraw(instance.id, .block)
        #expect(try await gateway.instances().map(\.status) == ["blocked"])
        try await gateway.removeUser("ann", endingInstances: true)
        #expect(try await gateway.instances().map(\.status) == ["wiped"])
        await gateway.shutdown()
    }
}
