import Logging
import SallyportBase
import TestSupport
import Testing

@testable import SallyportGateway

/// What the log says and what is done when a lease ends.
@Suite(.timeLimit(.minutes(1))) struct LeaseWatchTests {
    private let gate = LeaseGate()
    private let recorder = LogRecorder()
    private let judgements = Lock(0)

    private func publish(lasting length: Duration) {
        var lease = RelayLease(length)
        lease.heard(at: .now)
        gate.publish(lease)
    }

    private func watching(beginsOver isOver: Bool = false, _ body: () async throws -> Void) async throws {
        let recorder = recorder
        let watch = LeaseWatch(
            gate: gate, source: "the store",
            logger: Logger(label: "test") { _ in RecordingLogHandler(recorder: recorder) }, beginsOver: isOver
        ) { [judgements] in judgements.withLock { $0 += 1 } }
        let task = Task { await watch.run() }
        do { try await body() } catch {
            task.cancel()
            throw error
        }
        task.cancel()
        await task.value
    }

    private func isTold(_ words: String) async throws -> Bool {
        try await eventually(within: .seconds(20)) { recorder.lines.last?.hasPrefix(words) ?? false }
    }

    /// A gateway whose database can be read, and does not commit, would refuse everything without a line in its log.
    @Test func theLogSaysIfThereIsNoWordAtTheStart() async throws {
        try await watching { () async throws in
            #expect(try await isTold("There is no word from the store"))
            publish(lasting: .seconds(300))
            #expect(try await isTold("There is word from the store."))
        }
    }

    @Test func theEndOfALeaseIsLoggedAndHasOpenTunnelsJudged() async throws {
        publish(lasting: .seconds(300))
        try await watching { () async throws in
            publish(lasting: .zero)
            #expect(try await isTold("There is no word from the store"))
            #expect(try await eventually(within: .seconds(20)) { judgements.withLock { $0 } == 1 })
        }
        #expect(recorder.lines.count == 1)
    }

    /// A relay that has just started has followed nothing yet.
    @Test func theLogDoesNotMentionALeaseThatHasNotBegun() async throws {
        try await watching(beginsOver: true) { () async throws in
            publish(lasting: .seconds(300))
            #expect(try await isTold("There is word from the store."))
        }
        #expect(recorder.lines.count == 1 && judgements.withLock { $0 } == 0)
    }
}
