import Foundation
import HTTPTypes
import Logging
import SallyportBase
import TestSupport
import Testing

@testable import SallyportGateway

@Suite(.timeLimit(.minutes(1))) struct HealthTests {
    private struct Answer: Decodable {
        struct Part: Decodable {
            let status: String
            let reason: String?
        }
        let status: String
        let parts: [String: Part]
    }

    private static func read(_ answer: HealthAnswer) throws -> Answer {
        try JSONDecoder().decode(Answer.self, from: Data(answer.body))
    }

    /// Runs `body` while the parts are looked at.
    private static func watching(
        _ parts: [HealthPart], patience: Duration = .seconds(10), _ body: (Health) async throws -> Void
    ) async throws {
        let health = Health(parts, interval: .milliseconds(5), patience: patience)
        let run = Task { await health.run() }
        defer { run.cancel() }
        try await body(health)
    }

    @Test func aRunningGatewayIsAliveAndReady() async throws {
        try await ControlFixture.with { fixture in
            #expect(try await eventually { try await fixture.observe("/health/ready").status == 200 })
            for path in ["/health/live", "/health/ready"] {
                let answer = try await fixture.observe(path)
                #expect(answer.status == 200 && answer.fields[.contentType] == "application/json")
                let parts = try JSONDecoder().decode(Answer.self, from: Data(answer.body)).parts
                #expect(Set(parts.keys) == ["store", "relay", "control"])
                #expect(parts.values.allSatisfy { $0.status == "ok" && $0.reason == nil })
            }
        }
    }

    @Test func beforeTheFirstLookNothingIsReady() async throws {
        let states = await Health([HealthPart(name: "a") { .well }]).states()
        #expect(HealthAnswer(states, where: \.isReady).httpStatus == .serviceUnavailable)
        #expect(HealthAnswer(states, where: \.isAlive).httpStatus == .ok)
    }

    @Test func eachPartIsNamedWithItsReason() async throws {
        let parts = [
            HealthPart(name: "well") { .well }, HealthPart(name: "busy") { .notReady("Too much to do.") },
            HealthPart(name: "gone") { .failed("It is not there.") },
        ]
        try await Self.watching(parts) { health in
            let unseen = HealthFinding.notReady("It has not started yet.")
            let isSeen = try await eventually { await !health.states().contains { $0.finding == unseen } }
            #expect(isSeen)
            let states = await health.states()
            let (ready, live) = (HealthAnswer(states, where: \.isReady), HealthAnswer(states, where: \.isAlive))
            #expect(ready.httpStatus == .serviceUnavailable && live.httpStatus == .serviceUnavailable)
            let (asReady, asLive) = (try Self.read(ready).parts, try Self.read(live).parts)
            #expect(asReady.mapValues(\.status) == ["well": "ok", "busy": "failed", "gone": "failed"])
            #expect(asLive.mapValues(\.status) == ["well": "ok", "busy": "ok", "gone": "failed"])
            #expect(asReady["gone"]?.reason == "It is not there.")
        }
    }

    /// It holds up neither the answer nor the looks at other parts.
    @Test func aPartThatHangsHasFailedAfterAWhile() async throws {
        let hanging = HealthPart(name: "hanging") {
            try? await Task.sleep(for: .seconds(3600))
            return .well
        }
        let looks = Lock(0)
        let other = HealthPart(name: "other") {
            looks.withLock { $0 += 1 }
            return .well
        }
        try await Self.watching([hanging, other], patience: .seconds(2)) { health in
            let hasFailed = try await eventually { await health.states()[0].finding == .failed("It does not answer.") }
            #expect(hasFailed)
            let seen = looks.withLock { $0 }
            let isSeenAgain = try await eventually { looks.withLock { $0 } > seen }
            #expect(isSeenAgain)
            #expect(await health.states()[1].isReady)
        }
    }

    @Test func aPartThatRecoversIsWellAgain() async throws {
        let isWell = Lock(false)
        let part = HealthPart(name: "a") { isWell.withLock { $0 } ? .well : .failed("Not yet.") }
        try await Self.watching([part]) { health in
            let hasFailed = try await eventually { await !health.states()[0].isAlive }
            isWell.withLock { $0 = true }
            let isReady = try await eventually { await health.states()[0].isReady }
            #expect(hasFailed && isReady)
        }
    }

    @Test func aStoreThatWasClosedHasFailed() async throws {
        let fixture = try await DataFixture()
        let probe = StoreProbe(fixture.data, folder: fixture.path)
        #expect(await probe.look() == .well)
        await fixture.data.close()
        #expect(await probe.look() == .failed("The store cannot be read."))
    }

    @Test func aRelayListensUntilItEnds() async throws {
        try await RelayFixture.with { fixture in
            #expect(await fixture.relay.isListening() == true)
            await fixture.relay.shutdown()
            #expect(await fixture.relay.isListening() == false)
        }
    }

    @Test func withoutADescriptorThereIsNoRoom() async throws {
        var limits = ConnectionLimits()
        limits.descriptors = DescriptorShares(limit: 20, used: 0)
        try await RelayFixture.with(limits: limits) { fixture in
            #expect(fixture.connections.hasRoom)
            let origin = try TestServer { $0.awaitEnd() }
            var clients: [TestConnection] = []
            // Each tunnel takes two.
            while fixture.connections.hasRoom, clients.count < 20 {
                clients.append(try await fixture.connect())
                clients.last?.send("CONNECT 127.0.0.1:\(origin.port) HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = try? await clients.last?.head()
            }
            #expect(!fixture.connections.hasRoom && clients.count < 20)
            for client in clients { client.drop() }
            #expect(try await eventually { fixture.connections.hasRoom })
            origin.stop()
        }
    }
}
