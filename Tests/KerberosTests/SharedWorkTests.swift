import SallyportBase
import SallyportCore
import TestSupport
import Testing

@testable import SallyportKerberos

/// Loads that share a sign-in, and leave it one by one.
@Suite(.timeLimit(.minutes(1))) struct SharedWorkTests {
    private let shared = SharedWork<String, Int>()
    private let hasBegun = Signal()
    private let tries = Lock(0)

    private func waiters(_ count: Int) async throws -> Bool {
        try await eventually { await shared.waiterCount == count }
    }

    /// A sign-in with a password that is good for one use: it fails if it is ended, and if it is begun again.
    private func signIn(until mayEnd: Signal) -> SharedWork<String, Int>.Work {
        { [tries, hasBegun] () async throws(KerberosError) -> Int in
            let number = tries.withLock { tries in
                tries += 1
                return tries
            }
            hasBegun.fire()
            await mayEnd.wait()
            guard !Task.isCancelled, number == 1 else { throw KerberosError(.wrongPassword, "It was used.") }
            return number
        }
    }

    @Test func itGoesOnWhenTheLoadThatBeganItIsCancelled() async throws {
        let mayEnd = Signal()
        defer { mayEnd.fire() }
        let work = signIn(until: mayEnd)
        let first = Task { [shared] in try await shared.value(of: "ann", work) }
        await hasBegun.wait()
        let second = Task { [shared] in try await shared.value(of: "ann", work) }
        #expect(try await waiters(2))
        first.cancel()
        #expect(try await waiters(1))
        guard case .failure(let error as KerberosError) = await first.result else {
            throw Unexpected("A cancelled load got a ticket.")
        }
        #expect(error.isCancellation)
        mayEnd.fire()
        #expect(try await second.value == 1)
        #expect(tries.withLock { $0 } == 1)
    }

    @Test func itIsCancelledWithTheLastLoadAndBegunAgainByTheNext() async throws {
        let ended = Signal()
        let work: SharedWork<String, Int>.Work = { [hasBegun] () async throws(KerberosError) -> Int in
            hasBegun.fire()
            // Ends with the task.
            await TaskSignal().wait()
            ended.fire()
            throw KerberosError(.kdcUnreachable, "It was ended.", underlying: LoadError.cancelled())
        }
        let only = Task { [shared] in try await shared.value(of: "ann", work) }
        await hasBegun.wait()
        only.cancel()
        await ended.wait()
        let again = try await shared.value(of: "ann") { 2 }
        #expect(again == 2)
    }
}
