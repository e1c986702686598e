import Dispatch
import SallyportBase
import SallyportCore
import TestSupport
import Testing

@testable import SallyportKerberos

/// How many passwords are hashed at once, in place of hashing with a call that ends when the test says.
@Suite(.timeLimit(.minutes(1)))
struct PasswordHashingTests {
    private let hashing = PasswordHashing(limit: 1)
    private let mayEnd = DispatchSemaphore(value: 0)
    private let hasBegun = Signal()
    private let begun = Lock(0)
    private let deadline = ContinuousClock.now + .seconds(50)

    /// Blocks the thread that it has for itself, but not for ever, so that a test that waits for it in vain ends.
    private func occupy(_ realm: String, until deadline: ContinuousClock.Instant? = nil) -> Task<Int, any Error> {
        let deadline = deadline ?? self.deadline
        return Task { [hashing, mayEnd, hasBegun] in
            try await hashing.result(of: realm, until: deadline) { () -> Result<Int, KerberosError> in
                hasBegun.fire()
                _ = mayEnd.wait(timeout: .now() + 20)
                return .success(1)
            }
        }
    }

    private func hash(_ realm: String, until deadline: ContinuousClock.Instant) async throws(KerberosError) -> Int {
        try await hashing.result(of: realm, until: deadline) { [begun] () -> Result<Int, KerberosError> in
            begun.withLock { $0 += 1 }
            return .success(2)
        }
    }

    @Test func itHasAThreadOfItsOwn() async throws {
        let name = try await hashing.result(of: "R", until: deadline) { () -> Result<String?, KerberosError> in
            .success(KernelFile.text("/proc/thread-self/comm"))
        }
        #expect(name == "krb5-password\n")
    }

    @Test func noTurnBeginsAfterItsTime() async {
        let slots = RealmSlots(limit: 1)
        #expect(await !slots.enter("R", until: .now))
        #expect(await slots.enter("R", until: deadline), "the late one took no turn")
    }

    @Test func oneThatIsBeyondTheLimitWaitsForItsTurn() async throws {
        let first = occupy("R")
        await hasBegun.wait()
        let second = Task { try await hash("R", until: deadline) }
        #expect(try await eventually { await hashing.waiterCount == 1 })
        #expect(begun.withLock { $0 } == 0)
        #expect(try await hash("OTHER", until: deadline) == 2, "another realm's does not wait")
        mayEnd.signal()
        #expect(try await first.value == 1)
        #expect(try await second.value == 2)
    }

    @Test func oneThatWaitsIsCancelled() async throws {
        let first = occupy("R")
        await hasBegun.wait()
        let second = Task { try await hash("R", until: deadline) }
        #expect(try await eventually { await hashing.waiterCount == 1 })
        second.cancel()
        guard case .failure(let error as KerberosError) = await second.result else {
            throw Unexpected("A password was hashed after the load was cancelled.")
        }
        #expect(error.isCancellation)
        #expect(await hashing.waiterCount == 0)
        mayEnd.signal()
        _ = try await first.value
        #expect(begun.withLock { $0 } == 0)
    }

    /// It cannot be stopped, and goes on in its turn.
    @Test func theWaitForOneThatHasBegunEndsInItsTime() async throws {
        let first = occupy("R", until: .now + .seconds(2))
        await hasBegun.wait()
        await #expect(throws: KerberosError(.kdcUnreachable, "")) { try await first.value }
        try await expectItsTurnLasts()
    }

    @Test func theWaitForOneThatHasBegunEndsWhenItIsCancelled() async throws {
        let first = occupy("R")
        await hasBegun.wait()
        first.cancel()
        guard case .failure(let error as KerberosError) = await first.result else {
            throw Unexpected("A cancelled load waited for its hash.")
        }
        #expect(error.isCancellation)
        try await expectItsTurnLasts()
    }

    private func expectItsTurnLasts() async throws {
        let second = Task { try await hash("R", until: deadline) }
        #expect(try await eventually { await hashing.waiterCount == 1 })
        #expect(begun.withLock { $0 } == 0)
        mayEnd.signal()
        #expect(try await second.value == 2)
    }

    @Test func oneWhoseTimeIsOverDoesNotBegin() async throws {
        let first = occupy("R")
        await hasBegun.wait()
        await #expect(throws: KerberosError(.kdcUnreachable, "")) {
            try await hash("R", until: .now + .milliseconds(50))
        }
        #expect(await hashing.waiterCount == 0)
        mayEnd.signal()
        _ = try await first.value
        await #expect(throws: KerberosError(.kdcUnreachable, "")) { try await hash("R", until: .now) }
        #expect(begun.withLock { $0 } == 0)
        #expect(try await hash("R", until: deadline) == 2, "the turns of the others have ended")
    }
}
