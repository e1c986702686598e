import Glibc
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportURLLoading

/// A session that finishes what is in progress before it ends.
@Suite(.timeLimit(.minutes(1))) struct FinishTests {
    private let loading = URLLoadingSystem(gate: StubGate())

    /// Answers each request only once the test allows it.
    private final class SlowServer: Sendable {
        let server: TestServer
        private let isHeld: Lock<Bool>

        init(_ answer: String = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") throws {
            let isHeld = Lock(true)
            self.isHeld = isHeld
            server = try TestServer { connection in
                while connection.readHead() != nil {
                    while isHeld.withLock({ $0 }) { usleep(2000) }
                    connection.write(answer)
                }
            }
        }

        deinit { letGo() }

        func letGo() { isHeld.withLock { $0 = false } }

        func request() throws -> LoadRequest { try LoadRequest(.get, server.url()) }
    }

    private func finishing(_ session: SecureSession) async throws -> (task: Task<Void, Never>, isDone: Lock<Bool>) {
        let isDone = Lock(false)
        let task = Task {
            await session.finishTasksAndInvalidate()
            isDone.withLock { $0 = true }
        }
        #expect(try await eventually { (try? session.running.begin()) == nil || Self.undo(session) })
        return (task, isDone)
    }

    /// It was let in: that must not count.
    private static func undo(_ session: SecureSession) -> Bool {
        session.running.end()
        return false
    }

    @Test func runningLoadsFinishAndNewOnesAreRefused() async throws {
        let server = try SlowServer()
        let session = loading.makeSession()
        let load = Task { try await session.data(for: try server.request()) }
        #expect(try await eventually { server.server.acceptedConnections == 1 })
        let (finishing, isDone) = try await finishing(session)
        await #expect(throws: LoadError(.sessionInvalidated, "")) { try await session.data(for: try server.request()) }
        await #expect(throws: LoadError(.sessionInvalidated, "")) { try await session.bytes(for: try server.request()) }
        await #expect(throws: LoadError(.sessionInvalidated, "")) {
            try await session.streamTask(to: try server.server.endpoint)
        }
        await #expect(throws: LoadError(.sessionInvalidated, "")) {
            try await session.dataTask(for: try server.request()).value
        }
        try await Task.sleep(for: .milliseconds(50))
        #expect(!isDone.withLock { $0 })
        server.letGo()
        #expect(try await load.value.body == Array("ok".utf8))
        await finishing.value
        await #expect(throws: LoadError(.sessionInvalidated, "")) { try await session.data(for: try server.request()) }
        #expect(try await eventually { server.server.openConnections == 0 })
    }

    @Test(arguments: [false, true]) func aBodyIsWaitedForUntilItWasReadOrIsNoLongerWanted(_ isRead: Bool) async throws {
        let server = try SlowServer()
        server.letGo()
        let session = loading.makeSession()
        let response = try await session.bytes(for: try server.request())
        let (finishing, isDone) = try await finishing(session)
        try await Task.sleep(for: .milliseconds(50))
        #expect(!isDone.withLock { $0 })
        if isRead {
            #expect(try await response.body.collect(upTo: .kibibytes(1)) == Array("ok".utf8))
        } else {
            response.body.discard()
        }
        await finishing.value
    }

    @Test func aStreamIsWaitedFor() async throws {
        let server = try TestServer { $0.awaitEnd() }
        let session = loading.makeSession()
        let stream = try await session.streamTask(to: server.endpoint)
        let (finishing, isDone) = try await finishing(session)
        try await stream.write("still open")
        #expect(!isDone.withLock { $0 })
        stream.close()
        await finishing.value
    }

    @Test func aTaskRunsFromItsFirstResume() async throws {
        let server = try SlowServer()
        let session = loading.makeSession()
        let (running, waiting) = try (session.dataTask(for: server.request()), session.dataTask(for: server.request()))
        running.resume()
        let (finishing, isDone) = try await finishing(session)
        waiting.resume()
        await #expect(throws: LoadError(.sessionInvalidated, "")) { try await waiting.value }
        #expect(!isDone.withLock { $0 })
        server.letGo()
        #expect(try await running.value.body == Array("ok".utf8))
        await finishing.value
    }

    @Test func cancellingTheWaitInvalidatesTheSession() async throws {
        let server = try SlowServer()
        let session = loading.makeSession()
        let load = Task { try await session.data(for: try server.request()) }
        #expect(try await eventually { server.server.acceptedConnections == 1 })
        let (finishing, _) = try await finishing(session)
        finishing.cancel()
        await finishing.value
        await #expect(throws: LoadError(.sessionInvalidated, "")) { try await load.value }
    }

    @Test func anIdleSessionIsInvalidatedAtOnceForAllCallers() async throws {
        let session = loading.makeSession()
        async let one: Void = session.finishTasksAndInvalidate()
        async let other: Void = session.finishTasksAndInvalidate()
        _ = await (one, other)
        await #expect(throws: LoadError(.sessionInvalidated, "")) {
            try await session.data(for: .get("http://127.0.0.1:1/"))
        }
    }

    @Test func theSharedSessionStays() async throws {
        let server = try SlowServer()
        server.letGo()
        await loading.session.finishTasksAndInvalidate()
        #expect(try await loading.session.data(for: try server.request()).body == Array("ok".utf8))
    }
}
