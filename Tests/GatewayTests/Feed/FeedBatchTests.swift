import Foundation
import SallyportCore
import SallyportWire
import Testing

@testable import SallyportGateway

/// What a relay may tell of access, and in which batches.
@Suite struct FeedBatchTests {
    private static let event = [
        "kind": "connect", "time": "1767225600000", "outcome": "opened", "target": "a.example:443",
    ]

    private static func batch(_ events: [[String: String]], process: String = "a1") -> FeedBatch {
        FeedBatch(process: process, number: 7, lost: 0, events: events)
    }

    @Test func aRelaysEventIsEnteredUnderItsNameAndTheGatewaysTime() throws {
        let instance = InstanceIdentifier().description
        let now = Date()
        let told = Self.event.merging(["instance": instance, "address": "10.0.0.1", "sent": "5"]) { $1 }
        let entries = try Self.batch([told]).entries(of: "relay-a.example", at: now)
        let fields: [AuditField: String] = [
            .kind: "connect", .actor: "instance", .outcome: "opened", .target: "a.example:443", .instance: instance,
            .address: "10.0.0.1", .sent: "5", .relay: "relay-a.example", .batch: "a1 7",
            .detail: "2026-01-01T00:00:00.000Z",
        ]
        #expect(entries.map(\.kind) == [.connect] && entries.map(\.time) == [now])
        #expect(entries.map(\.fields) == [fields])
    }

    @Test func namesAndFieldsThatAreNotARelaysAreNotTaken() throws {
        let told = [
            "relay": "other", "gateway": "other", "actor": "socket", "uid": "0", "account": "root", "user": "eve",
            "entitlement": "a", "version": "1", "detail": "planted", "key": "planted", "source": "10.0.0.1",
            "ended": "planted", "salt": "planted", "batch": "planted", "action": "user.add", "instance": "planted",
            "address": "planted", "count": "planted", "new": "planted",
        ]
        let batch = Self.batch([Self.event.merging(told) { $1 }])
        let entries = try batch.entries(of: "relay-a.example", at: Date())
        let fields: [AuditField: String] = [
            .kind: "connect", .actor: "peer", .outcome: "opened", .target: "a.example:443", .relay: "relay-a.example",
            .batch: "a1 7", .detail: "2026-01-01T00:00:00.000Z",
        ]
        #expect(entries.map(\.fields) == [fields])
    }

    @Test(arguments: [
        ["kind": "administration"], ["kind": "activation"], ["kind": "lock"], ["kind": "lost"], ["kind": "start"],
        // But how many there were beyond those that are told one by one.
        ["kind": "refusal"],
        ["kind": "nonsense"], ["outcome": "Correct Horse"], ["outcome": ""],
        ["outcome": String(repeating: "a", count: 65)], ["time": "now"],
    ])
    func whatIsNotARelaysToTellIsRefused(_ change: [String: String]) {
        let batch = Self.batch([Self.event.merging(change) { $1 }])
        #expect(throws: GatewayError(.invalid, "")) { try batch.entries(of: "a", at: Date()) }
    }

    @Test(arguments: ["", "a b", "g", "0123456789abcdef0"])
    func aProcessIsAFewDigits(_ process: String) {
        #expect(throws: GatewayError(.invalid, "")) {
            try Self.batch([Self.event], process: process).entries(of: "a", at: Date())
        }
    }

    @Test func oneEventAboveTheLimitIsRefused() throws {
        let events = [[String: String]](repeating: Self.event, count: FeedBatch.eventLimit)
        #expect(try Self.batch(events).entries(of: "a", at: Date()).count == FeedBatch.eventLimit)
        #expect(throws: GatewayError(.invalid, "")) {
            try Self.batch(events + [Self.event]).entries(of: "a", at: Date())
        }
    }

    /// Whatever a relay's own code records.
    @Test func everythingThatARelayRecordsCanBeEntered() throws {
        let recorder = AuditRecorder()
        let (instance, target) = (InstanceIdentifier().description, try Endpoint("a.example:443"))
        recorder.connect(instance, target, address: IPAddress("::1"), error: nil)
        recorder.connect(nil, nil, address: nil, error: ProxyStatus.ErrorType.requestError)
        let policy = StubPolicy()
        let grant = TunnelGrant(
            client: try #require(policy.client(presenting: [])), target: target, instance: instance,
            address: RelayFixture.loopback)
        recorder.ended(grant, Tunnel.Result.clientFailed.rawValue, (1, 2), milliseconds: 3)
        for answer: GuardAnswer in [.allowed(instance: instance), .refused("a"), .unavailable("a"), .failed("a")] {
            recorder.judged(instance, target, answer)
        }
        for number in 1...AuditBuffer.strangerLimit + 1 {
            recorder.connect(nil, try Endpoint("a.example:\(number)"), address: nil, error: "http_request_denied")
        }
        var batches = AuditBatches()
        let next = batches.next(from: recorder)
        let batch = try #require(next)
        let entries = try batch.entries(of: "a", at: Date())
        #expect(entries.count == batch.events.count && entries.count == 7 + AuditBuffer.strangerLimit)
        #expect(entries[2][.outcome] == "client-failed" && entries[2][.received] == "2")
        #expect(entries.last?.kind == .refusal && entries.last?[.outcome] == "others")
    }

    // MARK: Batches

    private func note(_ count: Int, in recorder: AuditRecorder) {
        for _ in 0..<count { recorder.note(recorder.event(.tunnel, by: .instance, outcome: "ended")) }
    }

    @Test func aBatchIsTheSameUntilAGatewayHasIt() {
        let recorder = AuditRecorder()
        var batches = AuditBatches()
        #expect(batches.next(from: recorder) == nil)
        note(1, in: recorder)
        let first = batches.next(from: recorder)
        note(2, in: recorder)
        #expect(batches.next(from: recorder) == first)
        #expect(batches.count == 1)
        batches.taken()
        let second = batches.next(from: recorder)
        #expect(first?.number == 1 && second?.number == 2 && first?.process == second?.process)
        #expect(first?.events.count == 1 && second?.events.count == 2)
        batches.taken()
        #expect(batches.next(from: recorder) == nil)
        #expect(batches.count == 0)
    }

    /// While no gateway answers: the first event is about to be sent, and all others come meanwhile.
    @Test func whatWaitsIsBoundedAndTheLossIsTold() {
        let recorder = AuditRecorder.ofRelay()
        var batches = AuditBatches()
        note(1, in: recorder)
        let first = batches.next(from: recorder)
        note(32_768 + 7, in: recorder)
        #expect(batches.next(from: recorder) == first && batches.count == 1)
        var (events, lost) = (0, 0)
        while let batch = batches.next(from: recorder) {
            #expect(batch.events.count <= FeedBatch.eventLimit)
            (events, lost) = (events + batch.events.count, lost + batch.lost)
            batches.taken()
        }
        #expect(events == 1 + 32_768 && lost == 7)
    }

    @Test func theLongestBatchIsBelowTheLimitOfBytes() throws {
        let host = [String](repeating: String(repeating: "a", count: 60), count: 4).joined(separator: ".")
        let long = [
            "outcome": String(repeating: "a", count: 64), "instance": InstanceIdentifier().description,
            "target": "\(host):65535", "address": "2001:db8:1111:2222:3333:4444:5555:6666", "action": "guard",
            "sent": "\(Int64.max)", "received": "\(Int64.max)", "milliseconds": "\(Int64.max)",
            "count": "\(Int64.max)",
        ]
        let event = Self.event.merging(long) { $1 }
        let batch = Self.batch([[String: String]](repeating: event, count: FeedBatch.eventLimit))
        #expect(try FeedCoding.encoder.encode(batch).count < FeedBatch.limit)
        #expect(try batch.entries(of: "a", at: Date()).first?[.target] == "\(host):65535")
    }
}
