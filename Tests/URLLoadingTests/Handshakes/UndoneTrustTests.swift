import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing

@testable import SallyportConnecting
@testable import SallyportURLLoading

/// Trust in a server's chain that is undone while loads decide about it.
@Suite(.timeLimit(.minutes(1))) struct UndoneTrustTests {
    /// Passes what it has read on when it is told to.
    private final class HeldStore: DecisionStore {
        let stored = StubDecisionStore()
        let hasRead = Signal()
        let mayAnswer = Signal()

        func trustedChain(at endpoint: Endpoint) async -> ChainFingerprint? {
            let chain = await stored.trustedChain(at: endpoint)
            hasRead.fire()
            await mayAnswer.wait()
            return chain
        }

        func trust(_ chain: ChainFingerprint, at endpoint: Endpoint) async throws(LoadError) {
            try await stored.trust(chain, at: endpoint)
        }

        func forgetTrust(at endpoint: Endpoint) async throws(LoadError) -> Bool {
            try await stored.forgetTrust(at: endpoint)
        }
    }

    private let gate = StubGate()
    private let store = HeldStore()
    private let connector: Connector
    private let chain: ChainFingerprint
    private let place: ConnectionDecisions.Place

    init() throws {
        connector = Connector(gate: gate, client: StubClient([StubAnswer()]), decisions: store)
        chain = try #require(ChainFingerprint(sha256: Array(repeating: 7, count: 32)))
        place = .init(scope: .session("one"), endpoint: try Endpoint("a.example:443"))
    }

    @Test func whatWasReadOfTheStoreBeforeDoesNotCount() async throws {
        try await store.trust(chain, at: place.endpoint)
        let decision = Task { await connector.decision(on: chain, at: place, countsRefusals: false) }
        await store.hasRead.wait()
        #expect(try await connector.forgetTrust(at: place.endpoint))
        store.mayAnswer.fire()
        #expect(await decision.value == nil)
        #expect(await connector.decision(on: chain, at: place, countsRefusals: false) == nil)
    }

    /// Several loads wait for one answer, and one of them is late to store it.
    @Test func anAnswerToAnEarlierQuestionIsNotStored() async throws {
        let mark = await connector.mark
        _ = try await connector.forgetTrust(at: place.endpoint)
        try await connector.trust(chain, at: place, forGood: true, since: mark)
        #expect(await store.stored.trustedChain(at: place.endpoint) == nil)
        store.mayAnswer.fire()
        #expect(await connector.decision(on: chain, at: place, countsRefusals: false) == nil)
    }

    /// The app was asked before access was withdrawn, and the store was emptied before the answer came.
    @Test func anAnswerFromBeforeAWithdrawalIsNotStored() async throws {
        let mark = await connector.mark
        gate.withdraw(.remoteLockout)
        gate.authorize()
        try await connector.trust(chain, at: place, forGood: true, since: mark)
        #expect(await store.stored.trustedChain(at: place.endpoint) == nil)
        store.mayAnswer.fire()
        #expect(await connector.decision(on: chain, at: place, countsRefusals: false) == nil)
    }
}
