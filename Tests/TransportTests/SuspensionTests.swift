import Glibc
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
    private let transport = Transport()

    @Test func whatIsResumedWhileItIsSuspendedIsSentOnce() async throws {
        let (targets, isOpen) = (Lock<[String]>([]), Lock(false))
        let server = try TestServer { connection in
            while let head = connection.readHead() {
                targets.withLock { $0.append(String(head.split(separator: " ")[1])) }
                for _ in 0..<5000 where !isOpen.withLock({ $0 }) { usleep(2000) }
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let control = TestControl()
        func load(_ target: String, _ control: TestControl? = nil) throws -> Task<[UInt8], any Error> {
            var request = try ExchangeRequest(.get, server.url(target))
            request.connectionsPerOrigin = 1
            request.control = control
            return Task { [request] in
                try await transport.exchange(request, via: ConnectionPath()).body.collect(upTo: .bytes(2))
            }
        }
        var loads = [try load("/first")]
        #expect(try await eventually { targets.withLock { $0.count } == 1 })
        loads.append(try load("/second", control))
        #expect(try await eventually { control.listeners == 1 })
        control.answer([true, false])
        #expect(try await eventually { control.answers < 2 })
        control.tell()
        loads.append(try load("/third"))
        isOpen.withLock { $0 = true }
        for load in loads { #expect(try await load.value == Array("ok".utf8)) }
        #expect(try await load("/fourth").value == Array("ok".utf8))
        #expect(targets.withLock { $0.sorted() } == ["/first", "/fourth", "/second", "/third"])
        #expect(server.acceptedConnections == 1)
    }

    @Test(arguments: [HTTPVersions.automatic, .http1Only])
    func aSuspendedAnswerArrivesWholeAndDelaysNoOther(_ protocols: HTTPVersions) async throws {
        let web = try await WebServer.start()
        let control = TestControl()
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
        let control = TestControl()
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
            let control = TestControl()
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
