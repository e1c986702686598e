import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing
import TransportTestSupport

/// Exchanges that are suspended from outside, over HTTP/1.1 and HTTP/2.
@Suite(.timeLimit(.minutes(1)), .onBothEnginesAsUsual)
struct SuspensionTests {
    /// Suspended and resumed by the test.
    private final class Control: TransferControl {
        private let state = Lock((isSuspended: false, listeners: [UInt64: @Sendable () -> Void](), next: UInt64(0)))

        var isSuspended: Bool { state.withLock { $0.isSuspended } }
        var priority: Double { 0.5 }
        var listeners: Int { state.withLock { $0.listeners.count } }

        func set(_ isSuspended: Bool) {
            let listeners = state.withLock { state in
                state.isSuspended = isSuspended
                return Array(state.listeners.values)
            }
            for listener in listeners { listener() }
        }

        func attach(_ listener: @escaping @Sendable () -> Void) -> UInt64 {
            state.withLock { state in
                state.next += 1
                state.listeners[state.next] = listener
                return state.next
            }
        }

        func detach(_ number: UInt64) { state.withLock { $0.listeners[number] = nil } }
        func began(until deadline: ContinuousClock.Instant) {}
        func proceed() async throws(LoadError) {}
        func waits(_ isWaiting: Bool) {}
        func sent(_ bytes: Int64, of total: Int64?) {}
    }

    private let transport = Transport()

    @Test(arguments: [HTTPVersions.automatic, .http1Only])
    func aSuspendedAnswerArrivesWholeAndDelaysNoOther(_ protocols: HTTPVersions) async throws {
        let web = try await WebServer.start()
        let control = Control()
        var request = try web.request("/large")
        request.protocols = protocols
        request.control = control
        request.idleTimeout = .seconds(3)
        let response = try await transport.exchange(request, via: web.path())
        #expect(response.facts.connection.httpVersion == (protocols == .automatic ? "HTTP/2" : "HTTP/1.1"))
        control.set(true)
        let body = Task { try await response.body.collect(upTo: .bytes(WebServer.length)) }
        // Other exchanges get their answers meanwhile, and none is idle.
        for _ in 0..<5 {
            var other = try web.request("/small")
            other.protocols = protocols
            other.collectsUpTo = .bytes(2)
            let answer = try await transport.exchange(other, via: web.path())
            #expect(try await answer.body.collect(upTo: .bytes(2)) == Array("ok".utf8))
            // In sum more than the idle time-out.
            try await Task.sleep(for: .milliseconds(800))
        }
        control.set(false)
        #expect(try await body.value == web.content)
        #expect(try await eventually { control.listeners == 0 })
    }

    @Test func exchangesSuspendedBeforeTheirStartMakeNoConnection() async throws {
        let server = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        let control = Control()
        control.set(true)
        var request = try ExchangeRequest(.get, server.url())
        request.control = control
        let ready = request
        let task = Task { try await transport.exchange(ready, via: ConnectionPath()).head.status }
        try await Task.sleep(for: .milliseconds(100))
        #expect(server.acceptedConnections == 0)
        control.set(false)
        #expect(try await task.value == .ok)
    }

    @Test func suspendedExchangesEndWithTheirTaskAndAtTheirDeadline() async throws {
        let server = try TestServer { $0.awaitEnd() }
        for isCancelled in [true, false] {
            let control = Control()
            control.set(true)
            var request = try ExchangeRequest(.get, server.url())
            request.control = control
            request.deadline = isCancelled ? nil : .now + .milliseconds(150)
            let ready = request
            let task = Task { try await transport.exchange(ready, via: ConnectionPath()).head.status }
            if isCancelled {
                try await Task.sleep(for: .milliseconds(30))
                task.cancel()
            }
            let error = await #expect(throws: LoadError.self) { _ = try await task.value }
            #expect(error?.code == (isCancelled ? .cancelled : .resourceTimeout))
            #expect(try await eventually { control.listeners == 0 })
        }
        #expect(server.acceptedConnections == 0)
    }
}
