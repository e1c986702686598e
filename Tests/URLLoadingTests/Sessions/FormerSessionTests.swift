import Foundation
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportURLLoading

/// What another session or another instance takes the place of is released without the lock of that place: its end may
/// take other locks, and be the end of an app's objects.
@Suite(.timeLimit(.minutes(1))) struct FormerSessionTests {
    /// A stage that ends with its session.
    private struct WitnessedStage: LoadStage {
        let witness: ReleaseWitness?

        func load(
            _ request: LoadRequest, in context: LoadContext, next: LoadChain
        ) async throws(LoadError) -> LoadResponse {
            try await next.load(request, in: context)
        }
    }

    /// Not authorized, so that its shared session is the system's, as for other tests of this process.
    private static func system(_ stages: @escaping SessionStages = { _ in [] }) -> URLLoadingSystem {
        URLLoadingSystem(
            gate: StubGate(denied: AccessDenied(.notAuthorized)), stages: stages, client: StubClient([.text("")]))
    }

    @Test func theSessionBeforeIsReleasedWithoutTheLock() async {
        let (answers, tell) = AsyncStream.makeStream(of: Bool.self)
        let place = Lock<URLLoadingSystem?>(nil)
        let witness = Lock<ReleaseWitness?>(
            ReleaseWitness(tell) {
                let system = place.withLock { $0 }
                _ = system?.session
            })
        // Only the first session has the witness.
        let system = Self.system { _ in [WitnessedStage(witness: witness.withLock { $0.take() })] }
        place.withLock { $0 = system }
        Thread.detachNewThread { system.enable() }
        var isAnswered: Bool?
        for await answer in answers { isAnswered = answer }
        #expect(isAnswered == true)
    }

    @Test func theDefaultInstanceBeforeIsReleasedWithoutTheLock() async {
        let (answers, tell) = AsyncStream.makeStream(of: Bool.self)
        Self.makeDefault(with: ReleaseWitness(tell) { _ = URLLoadingSystem.default })
        let next = Self.system()
        Thread.detachNewThread { next.makeDefault() }
        var isAnswered: Bool?
        for await answer in answers { isAnswered = answer }
        #expect(isAnswered == true)
        next.resignAsDefault()
    }

    /// The instance has no other reference afterwards.
    private static func makeDefault(with witness: ReleaseWitness) {
        system { _ in [WitnessedStage(witness: witness)] }.makeDefault()
    }
}
