import Foundation
import Logging
import SallyportCore
import TestSupport
import Testing

@testable import SallyportGateway

/// How access events come into a gateway's chain.
@Suite(.timeLimit(.minutes(1))) struct AuditTrailTests {
    private let fixture: DataFixture
    private let store: FaultyStore
    private let data: GatewayData
    private let recorder = AuditRecorder()
    private let trail: AuditTrail

    init() async throws {
        fixture = try await DataFixture()
        (store, data) = try await fixture.faulty()
        let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        trail = AuditTrail(recorder, data, at: "localhost", to: AuditOutlets([], logger: silent), logger: silent)
    }

    private func connects(_ count: Int = 1) throws {
        for number in 1...count {
            recorder.connect("instance", try Endpoint("a.example:\(number)"), address: nil, error: nil)
        }
    }

    /// Runs `body` while the trail writes, and returns the entries once it has ended.
    private func entries(while body: () async throws -> Void) async throws -> [AuditEntry] {
        let running = Task { await trail.run() }
        try await body()
        running.cancel()
        await running.value
        await trail.finish()
        return try await fixture.accessEntries()
    }

    private func hasEntries(_ count: Int) async throws -> Bool {
        try await eventually(within: .seconds(10)) { try await fixture.accessEntries().count >= count }
    }

    @Test func eventsAreInTheStoreWithinASecond() async throws {
        let entries = try await entries {
            #expect(try await hasEntries(1))
            let start = ContinuousClock.now
            try connects()
            #expect(try await hasEntries(2))
            #expect(ContinuousClock.now - start < Soak.second)
        }
        #expect(entries.map { $0[.kind] } == ["start", "connect", "stop"])
        #expect(entries[1][.target] == "a.example:1" && entries[1][.outcome] == "opened")
        #expect(try await fixture.report().isSound)
    }

    @Test func whatWaitsAtTheEndIsWritten() async throws {
        try connects(1000)
        await trail.finish()
        let entries = try await fixture.accessEntries()
        #expect(entries.count == 1001)
        #expect(entries.map(\.number) == Array(1...1001))
    }

    @Test func whatAStoreDoesNotTakeIsWrittenLater() async throws {
        let entries = try await entries {
            #expect(try await hasEntries(1))
            store.set(.fails)
            try connects(3)
            // It was tried, and is tried again.
            try await Task.sleep(for: .milliseconds(400))
            #expect(try await fixture.accessEntries().count == 1)
            store.set(nil)
            #expect(try await hasEntries(4))
        }
        #expect(entries.map { $0[.kind] } == ["start", "connect", "connect", "connect", "stop"])
        #expect(try await fixture.report().isSound)
    }

    @Test func aBatchWhoseAnswerWasLostStandsInTheChainOnce() async throws {
        let entries = try await entries {
            #expect(try await hasEntries(1))
            store.set(.doesNotAnswer)
            try connects(2)
            #expect(try await hasEntries(3))
            store.set(nil)
        }
        #expect(entries.map { $0[.kind] } == ["start", "connect", "connect", "stop"])
        #expect(try await fixture.report().isSound)
    }

    @Test func whatIsLostIsCountedInAnEntry() async throws {
        try connects(AuditBuffer.limit + 5)
        await trail.finish()
        let entries = try await fixture.accessEntries()
        let lost = try #require(entries.first { $0[.kind] == "lost" })
        // The end of the gateway was one more.
        #expect(lost[.count] == "6")
        #expect(entries.count == AuditBuffer.limit + 1)
    }

    /// A relay that gets no answer sends its batch again.
    @Test func aRelaysBatchIsAnsweredOnceItIsInTheStore() async throws {
        let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let trails = RelayTrails(data, at: "localhost", to: AuditOutlets([], logger: silent), logger: silent)
        let running = Task { await trails.run() }
        let relay = RelayRecord(
            id: RelayIdentifier(), name: "relay-a.example", cluster: "main", added: Date(), serials: [])
        let event = ["kind": "connect", "time": "1767225600000", "outcome": "opened", "target": "a.example:443"]
        let batch = FeedBatch(process: "a1", number: 1, lost: 2, events: [event])
        store.set(.fails)
        await #expect(throws: GatewayError(.unreachable, "")) {
            try await trails.enter(batch, of: relay, at: Date())
        }
        store.set(nil)
        let isEntered = try await eventually(within: .seconds(10)) {
            (try? await trails.enter(batch, of: relay, at: Date())) != nil
        }
        #expect(isEntered)
        running.cancel()
        await running.value
        await trails.finish()
        let entries = try await fixture.relayEntries()
        try #require(entries.map { $0[.kind] } == ["connect", "lost"])
        #expect(entries.allSatisfy { $0[.relay] == "relay-a.example" && $0[.batch] == "a1 1" })
        #expect(entries[1][.count] == "2" && entries[1][.actor] == "relay")
        // The gateway's own chain has nothing of it.
        #expect(try await fixture.accessEntries().isEmpty)
        #expect(try await fixture.report().isSound)
    }

    @Test func aCopiedDataFolderWritesOnInTheSameChain() async throws {
        let other = AuditRecorder()
        let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let copy = AuditTrail(
            other, fixture.data, at: "localhost", to: AuditOutlets([], logger: silent), logger: silent)
        for _ in 0..<2 {
            try connects()
            await trail.finish()
            other.connect("other", nil, address: nil, error: "x")
            await copy.finish()
        }
        #expect(try await fixture.accessEntries().count == 8)
        #expect(try await fixture.report().isSound)
    }
}
