import Foundation
import FoundationNetworking
import SallyportBase
import SallyportCore
import SallyportURLLoading
import TestSupport
import Testing

@testable import SallyportFoundationBridge

/// How native tasks end before their time.
@Suite(.timeLimit(.minutes(2))) struct EndingTests {
    private let tenant = Tenant()

    /// Gives the head and one byte, then nothing; tells when the client has left.
    private func holdingServer() throws -> (TestServer, isLeft: @Sendable () -> Bool) {
        let left = Lock(0)
        let server = try TestServer { connection in
            // A client that disconnects before its request is complete is counted too.
            defer { left.withLock { $0 += 1 } }
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1")
            connection.awaitEnd()
        }
        return (server, { left.withLock { $0 } > 0 })
    }

    @Test(arguments: [true, false]) func aCancelledTaskEndsTheTransferAtOnce(hasDelegate: Bool) async throws {
        let (server, isLeft) = try holdingServer()
        let collector = Collector()
        let session = tenant.native(delegate: hasDelegate ? collector : nil)
        let url = try server.native()
        if hasDelegate {
            let task = session.dataTask(with: url)
            task.resume()
            #expect(try await eventually { collector.seen.bytes > 0 })
            task.cancel()
            #expect((try await collector.end().error as? URLError)?.code == .cancelled)
        } else {
            let load = Task { try await session.data(from: url) }
            #expect(try await eventually { server.openConnections == 1 })
            load.cancel()
            await #expect(throws: (any Error).self) { try await load.value }
        }
        #expect(try await eventually { isLeft() })
    }

    @Test func aTaskThatIsCancelledBeforeItsStartLoadsNothing() async throws {
        let server = try RecordingServer(body: "ok")
        let collector = Collector()
        let task = try tenant.native(delegate: collector).dataTask(with: server.url())
        task.cancel()
        task.resume()
        #expect((try await collector.end().error as? URLError)?.code == .cancelled)
        #expect(server.seen.isEmpty)
    }

    @Test func theWaitForABodyThatIsNeverGivenEndsWhenItIsCancelled() async throws {
        let collector = Collector(answers: 0)
        let session = tenant.native(delegate: collector)
        let request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:9/")))
        let task = try NativeTask(session.uploadTask(withStreamedRequest: request))
        let body = try #require(BodyConversion(task, declaredLength: nil).body())
        let reading = Task { try await body.collect(upTo: .kibibytes(1)) }
        #expect(try await eventually { collector.seen.isAskedForABody })
        reading.cancel()
        await #expect(throws: (any Error).self) { try await reading.value }
    }

    @Test func withdrawalEndsTasks() async throws {
        let (server, isLeft) = try holdingServer()
        let collector = Collector()
        let session = tenant.native(delegate: collector)
        try session.dataTask(with: server.native()).resume()
        #expect(try await eventually { collector.seen.bytes > 0 })
        tenant.gate.withdraw()
        let error = try await collector.end().error as? URLError
        #expect(error?.code == .userAuthenticationRequired && error?.loadError?.code == .withdrawn)
        #expect((error?.loadError?.underlying as? AccessDenied)?.code == .wiped)
        #expect(try await eventually { isLeft() })
        let url = try server.native()
        let later = try await failure { _ = try await session.data(from: url) }
        #expect(later.loadError?.code == .withdrawn)
    }

    @Test func aSuspendedTaskRests() async throws {
        let count = 40 << 20
        let server = try TestServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n")
            for _ in 0..<40 { connection.write([UInt8](repeating: 1, count: 1 << 20)) }
            connection.awaitEnd()
        }
        let collector = Collector(pause: .milliseconds(5))
        let task = try tenant.native(delegate: collector).dataTask(with: server.native())
        task.resume()
        #expect(try await eventually { collector.seen.bytes > 0 })
        task.suspend()
        // What lay in the delegate's queue may still come.
        let rests = try await eventually {
            let before = collector.seen.bytes
            try await Task.sleep(for: .milliseconds(300))
            return collector.seen.bytes == before
        }
        #expect(rests && collector.seen.bytes < count)
        task.resume()
        let seen = try await collector.end()
        #expect(seen.error == nil && collector.seen.bytes == count)
    }

    @Test func downloadTasksFailAndSaySo() async throws {
        let server = try RecordingServer(body: "ok")
        let url = try server.url()
        let error = try await failure { _ = try await tenant.native().download(from: url) }
        #expect(error.code == .unsupportedURL && error.loadError?.code == .unsupportedScheme)
        let collector = Collector()
        tenant.native(delegate: collector).downloadTask(with: url).resume()
        #expect((try await collector.end().error as? URLError)?.code == .unsupportedURL)
        #expect(server.seen.isEmpty)
    }

    @Test func aServerThatIsNotTrustedHasItsCode() async throws {
        let tls = try TestTLS(TestAuthority().server(names: ["localhost"], addresses: [.v4(0x7f00_0001)]))
        let server = try TestServer { connection in _ = tls.accept(connection) }
        let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
        let error = try await failure { _ = try await tenant.native().data(from: url) }
        #expect(error.code == .serverCertificateUntrusted && error.loadError?.code == .serverNotTrusted)
    }

    @Test func aServerThatIsAwayHasItsCode() async throws {
        let server = try TestServer { _ in }
        let url = try server.native()
        server.stop()
        let error = try await failure { _ = try await tenant.native().data(from: url) }
        #expect(error.code == .cannotConnectToHost || error.code == .networkConnectionLost)
    }

    @Test func aBodyThatIsCutShortIsAnError() async throws {
        let server = try TestServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1")
        }
        let url = try server.native()
        let error = try await failure { _ = try await tenant.native().data(from: url) }
        #expect(error.code == .networkConnectionLost)
    }

    @Test func everyCodeOfALoadHasANativeOne() {
        #expect(URLErrorCodes.code(of: .cancelled) == .cancelled)
        #expect(URLErrorCodes.code(of: .cannotFindHost) == .cannotFindHost)
        #expect(URLErrorCodes.code(of: .tlsFailed) == .secureConnectionFailed)
        #expect(URLErrorCodes.code(of: .internalFailure) == .unknown)
        #expect(!URLErrorCodes.table.values.contains(.unknown))
    }

    /// Only FoundationNetworking accesses the native session's own tables.
    @Test func manyTasksAtOnceEndEachOnce() async throws {
        let server = try RecordingServer(body: String(repeating: "x", count: 10_000))
        let session = tenant.native(delegate: Collector())
        let url = try server.url()
        let ended = Lock((whole: 0, cancelled: 0))
        for round in 0..<300 {
            let task = session.dataTask(with: url) { data, _, error in
                ended.withLock { ended in
                    if data?.count == 10_000 { ended.whole += 1 }
                    if (error as? URLError)?.code == .cancelled { ended.cancelled += 1 }
                }
            }
            task.resume()
            if round % 3 == 0 { task.cancel() }
            if round % 5 == 0 {
                task.suspend()
                task.resume()
            }
            if round % 20 == 0 { try await Task.sleep(for: .milliseconds(1)) }
        }
        #expect(try await eventually(within: .seconds(30)) { ended.withLock { $0.whole + $0.cancelled } == 300 })
        try await Task.sleep(for: .milliseconds(100))
        let (whole, cancelled) = ended.withLock { $0 }
        #expect(whole + cancelled == 300 && cancelled >= 90, "\(whole) whole, \(cancelled) cancelled")
        #expect(try await eventually { server.seen.count >= whole })
    }
}
