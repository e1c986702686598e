import FoundationEssentials
import Glibc
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportURLLoading

/// Tasks over real connections on loopback.
@Suite(.timeLimit(.minutes(1))) struct LoadTaskTests {
    private let loading = URLLoadingSystem(gate: StubGate())
    private var session: SecureSession { loading.session }

    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    /// Sends a body of `total` bytes, and counts what the kernel took of it.
    private func source(_ total: Int, _ written: Lock<Int>) throws -> TestServer {
        try TestServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(total)\r\n\r\n")
            let chunk = [UInt8](repeating: 7, count: 1 << 16)
            var rest = total
            while rest > 0, connection.write(Array(chunk.prefix(rest))) {
                written.withLock { $0 += min(chunk.count, rest) }
                rest -= chunk.count
            }
            connection.awaitEnd()
        }
    }

    /// The count once it did not grow for a second, ten looks in a row: a thread may get no processor for a while.
    private func settled(_ count: Lock<Int>) async throws -> Int {
        var (last, looks) = (-1, 0)
        while looks < 10 {
            try await Task.sleep(for: .milliseconds(100))
            let now = count.withLock { $0 }
            looks = now == last ? looks + 1 : 0
            last = now
        }
        return last
    }

    // MARK: Life

    @Test func aTaskBeginsWhenItIsResumedAndGivesItsValueToAll() async throws {
        let server = try TestServer { $0.answerAll(Self.ok) }
        let task = session.dataTask(for: LoadRequest(.get, try server.url()))
        #expect(task.state == .suspended && task.response == nil)
        try await Task.sleep(for: .milliseconds(50))
        #expect(server.acceptedConnections == 0)
        task.resume()
        async let first = task.value
        async let second = task.value
        #expect(try await first.body == Array("ok".utf8))
        #expect(try await second.head.status == .ok)
        #expect(task.state == .completed && task.response?.status == .ok)
        #expect(server.acceptedConnections == 1)
    }

    @Test func askingForTheValueBeginsIt() async throws {
        let server = try TestServer { $0.answerAll(Self.ok) }
        let body = try await session.dataTask(for: LoadRequest(.get, server.url())).value.body
        #expect(body == Array("ok".utf8))
    }

    @Test func aFailureIsTheSameForAll() async throws {
        let server = try TestServer { _ = $0.readHead() }
        let task = session.dataTask(for: LoadRequest(.get, try server.url()))
        for _ in 0..<2 {
            let error = await #expect(throws: LoadError.self) { _ = try await task.value }
            #expect(error?.code == .connectionLost)
        }
        #expect(task.state == .completed)
    }

    @Test func cancellingAWaiterLeavesTheLoadAlone() async throws {
        let gate = Lock(false)
        let server = try TestServer { connection in
            _ = connection.readHead()
            for _ in 0..<5000 where !gate.withLock({ $0 }) { usleep(2000) }
            connection.write(Self.ok)
            connection.awaitEnd()
        }
        let task = session.dataTask(for: LoadRequest(.get, try server.url()))
        let waiter = Task { try await task.value.body }
        #expect(try await eventually { server.openConnections == 1 })
        waiter.cancel()
        await #expect(throws: LoadError(.cancelled, "")) { try await waiter.value }
        #expect(task.state == .running)
        gate.withLock { $0 = true }
        #expect(try await task.value.body == Array("ok".utf8))
    }

    enum Moment: CaseIterable { case unstarted, beforeAnswer, inBody, suspended, delayed }

    @Test(arguments: Moment.allCases)
    func cancellingEndsItAtAnyMoment(_ moment: Moment) async throws {
        let server = try TestServer { connection in
            _ = connection.readHead()
            if moment != .beforeAnswer { connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc") }
            connection.awaitEnd()
        }
        let options = LoadTaskOptions(earliestBegin: moment == .delayed ? .after(.seconds(3600)) : .atOnce)
        let task = session.dataTask(for: LoadRequest(.get, try server.url()), options: options)
        if moment != .unstarted { task.resume() }
        if moment == .delayed { #expect(try await eventually { task.state == .waiting }) }
        if [.beforeAnswer, .inBody, .suspended].contains(moment) {
            #expect(try await eventually { server.openConnections == 1 })
        }
        if moment == .suspended { task.suspend() }
        task.cancel()
        task.cancel()
        let error = await #expect(throws: LoadError.self) { _ = try await task.value }
        #expect(error?.code == .cancelled)
        #expect(task.state == .completed)
        #expect(try await eventually { server.openConnections == 0 })
    }

    @Test func aReleasedTaskContinuesIfRunningAndEndsIfSuspended() async throws {
        let directory = try TemporaryDirectory()
        let server = try TestServer { $0.answerAll(Self.ok) }
        let held = try TestServer { $0.awaitEnd() }
        do {
            session.downloadTask(for: LoadRequest(.get, try server.url()), to: directory.file("file")).resume()
            let task = session.dataTask(for: LoadRequest(.get, try held.url()))
            task.resume()
            #expect(try await eventually { held.openConnections == 1 })
            task.suspend()
        }
        #expect(try await eventually { FileManager.default.fileExists(atPath: directory.file("file")) })
        #expect(try await eventually { held.openConnections == 0 })
    }

    // MARK: Suspension

    @Test func aSuspendedDownloadSlowsTheServerDownAndStandsStillForTheIdleTimeout() async throws {
        let directory = try TemporaryDirectory()
        let written = Lock(0)
        let total = 64 << 20
        let server = try source(total, written)
        var request = LoadRequest(.get, try server.url())
        // A thread of a busy machine may get no processor for a second or two.
        request.options.idleTimeout = .seconds(3)
        let task = session.downloadTask(for: request, to: directory.file("file"))
        task.resume()
        #expect(try await eventually { written.withLock { $0 } > 1 << 20 })
        task.suspend()
        #expect(task.state == .suspended)
        let paused = try await settled(written)
        #expect(paused < total)
        // Longer than the idle time-out.
        try await Task.sleep(for: .seconds(4))
        #expect(written.withLock { $0 } == paused && task.state == .suspended)
        task.resume()
        #expect(try await task.value.status == .ok)
        let size = try FileManager.default.attributesOfItem(atPath: directory.file("file"))[.size] as? Int
        #expect(size == total)
    }

    @Test func aSuspendedUploadSendsNothing() async throws {
        let received = Lock(0)
        let total = 32 << 20
        let server = try TestServer { connection in
            _ = connection.readHead()
            while received.withLock({ $0 }) < total, case let chunk = connection.read(), !chunk.isEmpty {
                received.withLock { $0 += chunk.count }
                usleep(500)
            }
            connection.write(Self.ok)
            connection.awaitEnd()
        }
        var request = LoadRequest(.put, try server.url())
        request.options.idleTimeout = .seconds(3)
        let task = session.uploadTask(for: request, from: .bytes([UInt8](repeating: 1, count: total)))
        task.resume()
        #expect(try await eventually { received.withLock { $0 } > 1 << 20 })
        task.suspend()
        let paused = try await settled(received)
        #expect(paused < total)
        // Longer than the idle time-out.
        try await Task.sleep(for: .seconds(4))
        #expect(received.withLock { $0 } == paused)
        task.resume()
        #expect(try await task.value.body == Array("ok".utf8))
        #expect(received.withLock { $0 } == total)
    }

    @Test func theResourceTimeoutRunsWhileATaskIsSuspended() async throws {
        let server = try source(64 << 20, Lock(0))
        var request = LoadRequest(.get, try server.url())
        // Long enough for the head, on a busy machine too.
        request.options.resourceTimeout = .seconds(2)
        let task = session.dataTask(for: request, upTo: .mebibytes(100))
        task.resume()
        #expect(try await eventually { task.response != nil })
        task.suspend()
        let error = await #expect(throws: LoadError.self) { _ = try await task.value }
        #expect(error?.code == .resourceTimeout)
        #expect(task.state == .completed)
    }

    @Test func aTaskThatIsSuspendedWhileItWaitsForAConnectionLosesItsPlace() async throws {
        var configuration = SessionConfiguration()
        configuration.connectionsPerOrigin = 1
        let session = loading.makeSession(configuration)
        let (order, gate) = (Lock<[String]>([]), Lock(false))
        let server = try queueServer(order, gate)
        let url = { (name: String) in LoadRequest(.get, try server.url("/\(name)")) }
        let first = session.dataTask(for: try url("first"))
        first.resume()
        #expect(try await eventually { order.withLock { $0 } == ["/first"] })
        let tasks = try ["a", "b"].map { session.dataTask(for: try url($0)) }
        for task in tasks {
            task.resume()
            // Nothing tells that it waits for the connection now.
            try await Task.sleep(for: .milliseconds(500))
        }
        tasks[0].suspend()
        gate.withLock { $0 = true }
        _ = try await tasks[1].value
        #expect(order.withLock { $0 } == ["/first", "/b"])
        tasks[0].resume()
        _ = try await tasks[0].value
        #expect(order.withLock { $0 } == ["/first", "/b", "/a"])
    }

    @Test func aBodyThatTheAppReadsPausesToo() async throws {
        let written = Lock(0)
        let total = 32 << 20
        let server = try source(total, written)
        let task = session.bytesTask(for: LoadRequest(.get, try server.url()))
        let response = try await task.value
        #expect(task.state == .running)
        _ = try await response.body.next()
        task.suspend()
        let reader = Task {
            var count = 0
            while let chunk = try await response.body.next() { count += chunk.count }
            return count
        }
        let paused = try await settled(written)
        #expect(paused < total)
        task.resume()
        #expect(try await reader.value > total - (1 << 20))
        #expect(task.state == .completed)
    }

    /// Sends three of ten bytes.
    private func unfinishedBody() throws -> TestServer {
        try TestServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
            connection.awaitEnd()
        }
    }

    @Test func cancellingABytesTaskEndsItsReader() async throws {
        let server = try unfinishedBody()
        let task = session.bytesTask(for: LoadRequest(.get, try server.url()))
        let response = try await task.value
        #expect(try await response.body.next()?.count == 3)
        let reader = Task { try await response.body.next() }
        try await Task.sleep(for: .milliseconds(30))
        task.cancel()
        await #expect(throws: LoadError(.cancelled, "")) { try await reader.value }
        #expect(task.state == .completed)
        #expect(try await eventually { server.openConnections == 0 })
    }

    @Test func cancellingABytesTaskThatIsNotReadCompletesIt() async throws {
        let server = try unfinishedBody()
        let task = session.bytesTask(for: LoadRequest(.get, try server.url()))
        let response = try await task.value
        task.cancel()
        #expect(task.state == .completed)
        #expect(try await eventually { server.openConnections == 0 })
        // Its release would end the task too.
        withExtendedLifetime(response) {}
    }

    /// Writes as fast as it can, and counts.
    private struct Writer: ProtocolHandler {
        static let written = Lock(0)
        static func canHandle(_ request: LoadRequest) -> Bool { request.url.scheme == "fast" }

        func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
            try response.begin(HTTPResponse(status: .ok))
            for _ in 0..<400 {
                try await response.write([UInt8](repeating: 1, count: 1 << 16))
                Self.written.withLock { $0 += 1 << 16 }
                try await Task.sleep(for: .milliseconds(1))
            }
        }
    }

    @Test func aHandlerIsSlowedDownToo() async throws {
        loading.protocols.register(Writer.self)
        let task = session.dataTask(for: try .get("fast:load"), upTo: .mebibytes(100))
        task.resume()
        #expect(try await eventually { Writer.written.withLock { $0 } > 1 << 20 })
        task.suspend()
        let paused = try await settled(Writer.written)
        #expect(paused < 400 << 16)
        task.resume()
        #expect(try await task.value.body.count == 400 << 16)
    }

    @Test func suspendedAndResumedLoadsArriveComplete() async throws {
        let content = Payload.bytes(400_000)
        let server = try TestServer { connection in
            while connection.readHead() != nil {
                // The client would read a body without its head as a head.
                guard connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(content.count)\r\n\r\n"),
                    connection.write(content)
                else { return }
            }
        }
        let request = LoadRequest(.get, try server.url())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<100 {
                group.addTask {
                    var generator = SeededGenerator(seed: UInt64(number))
                    let task = session.dataTask(for: request)
                    for _ in 0..<Int.random(in: 0...12, using: &generator) {
                        if Bool.random(using: &generator) { task.resume() } else { task.suspend() }
                        task.priority = Double.random(in: 0...1, using: &generator)
                        try await Task.sleep(for: .microseconds(Int.random(in: 0...3000, using: &generator)))
                    }
                    if number.isMultiple(of: 5) {
                        task.cancel()
                        _ = try? await task.value
                    } else {
                        task.resume()
                        let body = try await task.value.body
                        #expect(body == content)
                    }
                    #expect(task.state == .completed)
                }
            }
            try await group.waitForAll()
        }
        await loading.shutdown()
        #expect(try await eventually { server.openConnections == 0 })
    }

    // MARK: Priority

    /// Answers one request after another once the gate is open, and writes their targets down.
    private func queueServer(_ order: Lock<[String]>, _ gate: Lock<Bool>) throws -> TestServer {
        try TestServer { connection in
            while let head = connection.readHead() {
                let target = head.split(separator: " ").dropFirst().first.map(String.init) ?? ""
                order.withLock { $0.append(target) }
                for _ in 0..<5000 where !gate.withLock({ $0 }) { usleep(2000) }
                connection.write(Self.ok)
            }
        }
    }

    @Test func theMostUrgentGetsTheConnectionFirst() async throws {
        var configuration = SessionConfiguration()
        configuration.connectionsPerOrigin = 1
        let session = loading.makeSession(configuration)
        let (order, gate) = (Lock<[String]>([]), Lock(false))
        let server = try queueServer(order, gate)
        let first = session.dataTask(for: LoadRequest(.get, try server.url("/first")))
        first.resume()
        #expect(try await eventually { order.withLock { $0 } == ["/first"] })
        let names: [(String, Double)] = [("low", 0), ("a", 0.5), ("b", 0.5), ("high", 1), ("raised", 0.2)]
        var tasks: [LoadTask<LoadAnswer<[UInt8]>>] = []
        for (name, priority) in names {
            let task = session.dataTask(
                for: LoadRequest(.get, try server.url("/\(name)")), options: LoadTaskOptions(priority: priority))
            task.resume()
            tasks.append(task)
            // Nothing tells that it waits for the connection now.
            try await Task.sleep(for: .milliseconds(500))
        }
        tasks[4].priority = 0.9
        try await Task.sleep(for: .milliseconds(500))
        gate.withLock { $0 = true }
        for task in tasks { _ = try await task.value }
        #expect(order.withLock { $0 } == ["/first", "/high", "/raised", "/a", "/b", "/low"])
    }

    // MARK: Progress

    @Test func bothDirectionsAreFollowedAndEndWithTheTask() async throws {
        let total = 3_000_000
        let server = try TestServer { connection in
            _ = connection.readHead()
            var rest = total
            while rest > 0, case let chunk = connection.read(), !chunk.isEmpty { rest -= chunk.count }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(total)\r\n\r\n")
            connection.write([UInt8](repeating: 7, count: total))
            connection.awaitEnd()
        }
        let task = session.uploadTask(
            for: LoadRequest(.get, try server.url()), from: .bytes([UInt8](repeating: 1, count: total)))
        let (sent, received) = (task.sent, task.received)
        async let up = collect(sent)
        async let down = collect(received)
        task.resume()
        #expect(try await task.value.body.count == total)
        for progress in [await up, await down] {
            #expect(progress.last == TransferProgress(completed: Int64(total), total: Int64(total)))
            #expect(progress.last?.fraction == 1)
            #expect(zip(progress, progress.dropFirst()).allSatisfy { $0.completed <= $1.completed })
        }
        // Asked for after the end: the last value, and the end.
        let last = await collect(task.received)
        #expect(last.map(\.completed) == [Int64(total)])
    }

    private func collect(_ updates: ProgressUpdates) async -> [TransferProgress] {
        var progress: [TransferProgress] = []
        for await update in updates { progress.append(update) }
        return progress
    }

    @Test func aSlowFollowerHoldsOneValue() async {
        let board = ProgressBoard()
        let updates = board.updates()
        for bytes in 1...100_000 { board.set(TransferProgress(completed: Int64(bytes), total: nil)) }
        board.finish()
        #expect(await collect(updates).map(\.completed) == [100_000])
    }

    // MARK: Begin

    private func delayedTask(
        beginning begin: EarliestBegin, at server: TestServer
    ) throws -> LoadTask<LoadAnswer<[UInt8]>> {
        let options = LoadTaskOptions(earliestBegin: begin)
        let task = session.dataTask(for: LoadRequest(.get, try server.url()), options: options)
        task.resume()
        return task
    }

    @Test func aDelayedTaskBeginsAtItsTime() async throws {
        let server = try TestServer { $0.answerAll(Self.ok) }
        let start = ContinuousClock.now
        for begin in [EarliestBegin.after(.milliseconds(300)), .at(Date().addingTimeInterval(0.6))] {
            _ = try await delayedTask(beginning: begin, at: server).value
        }
        #expect(ContinuousClock.now - start >= .milliseconds(590))
    }

    @Test func aDelayedTaskIsWaitingBeforeItsTime() async throws {
        let server = try TestServer { $0.answerAll(Self.ok) }
        for begin in [EarliestBegin.after(.seconds(600)), .at(Date().addingTimeInterval(600))] {
            let task = try delayedTask(beginning: begin, at: server)
            #expect(try await eventually { task.state == .waiting })
            task.cancel()
            await #expect(throws: LoadError(.cancelled, "")) { _ = try await task.value }
        }
        #expect(server.acceptedConnections == 0)
    }

    private struct Beginner: SessionDelegate {
        let decision: DelayedBegin
        func session(_ session: SecureSession, willBeginDelayed request: LoadRequest) async -> DelayedBegin { decision }
    }

    @Test func theAppDecidesWhetherADelayedTaskBeginsAndWithWhat() async throws {
        let (order, gate) = (Lock<[String]>([]), Lock(true))
        let server = try queueServer(order, gate)
        let options = LoadTaskOptions(earliestBegin: .after(.milliseconds(10)))
        let request = LoadRequest(.get, try server.url("/old"))
        let changed = LoadRequest(.get, try server.url("/new"))
        for decision in [DelayedBegin.notImplemented, .proceed, .change(changed)] {
            let task = session.dataTask(for: request, options: options, delegate: Beginner(decision: decision))
            _ = try await task.value
        }
        #expect(order.withLock { $0 } == ["/old", "/old", "/new"])
        let refused = session.dataTask(for: request, options: options, delegate: Beginner(decision: .cancel))
        await #expect(throws: LoadError(.cancelled, "")) { _ = try await refused.value }
        // Without a delay the delegate is not asked.
        _ = try await session.dataTask(for: request, delegate: Beginner(decision: .cancel)).value
        #expect(order.withLock { $0.count } == 4)
    }

    /// Does not look whether it was cancelled.
    private struct Undecided: SessionDelegate {
        let asked = AwaitedValue<Void>()
        let mayAnswer = AwaitedValue<Void>()

        func session(_ session: SecureSession, willBeginDelayed request: LoadRequest) async -> DelayedBegin {
            asked.set(())
            _ = await Task { await mayAnswer.wait() }.value
            return .proceed
        }
    }

    enum DelayedEnd: CaseIterable { case cancelled, withdrawn, invalidated, overdue }

    @Test(arguments: DelayedEnd.allCases)
    func aDelayedTaskEndsEvenIfTheAppNeverDecidesWhetherItBegins(_ end: DelayedEnd) async throws {
        let gate = StubGate()
        let session = URLLoadingSystem(gate: gate).makeSession()
        let delegate = Undecided()
        var request = try LoadRequest.get("http://a.example/")
        if end == .overdue { request.options.resourceTimeout = .milliseconds(10) }
        let options = LoadTaskOptions(earliestBegin: .after(.milliseconds(10)))
        let task = session.dataTask(for: request, options: options, delegate: delegate)
        task.resume()
        _ = await delegate.asked.wait()
        var expected = LoadError.Code.resourceTimeout
        switch end {
        case .cancelled:
            task.cancel()
            expected = .cancelled
        case .withdrawn:
            gate.withdraw(.blocked)
            expected = .withdrawn
        case .invalidated:
            session.invalidate()
            expected = .sessionInvalidated
        case .overdue: break
        }
        let error = await #expect(throws: LoadError.self) { _ = try await task.value }
        #expect(error?.code == expected)
        delegate.mayAnswer.set(())
    }

    @Test func theAppIsNotAskedAboutADelayedTaskThatMayNotLoadAnyMore() async throws {
        let gate = StubGate()
        let session = URLLoadingSystem(gate: gate).makeSession()
        let delegate = Undecided()
        let options = LoadTaskOptions(earliestBegin: .after(.milliseconds(10)))
        gate.withdraw(.blocked)
        let task = session.dataTask(for: try .get("http://a.example/"), options: options, delegate: delegate)
        await #expect(throws: LoadError(.withdrawn, "")) { _ = try await task.value }
        #expect(delegate.asked.value == nil)
    }

    // MARK: Downloads

    @Test func aResumableDownloadTaskGoesOnWhereItWasCancelled() async throws {
        let directory = try TemporaryDirectory()
        let content = Payload.bytes(8 << 20)
        let ranges = Lock<[String?]>([])
        let server = try TestServer { connection in
            while let head = connection.readHead() {
                let range = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("range:") }
                ranges.withLock { $0.append(range.map(String.init)) }
                let start = range?.split(separator: "=").last.flatMap { Int($0.dropLast()) } ?? 0
                let partial = "Content-Range: bytes \(start)-\(content.count - 1)/\(content.count)\r\n"
                connection.write(
                    "HTTP/1.1 \(start > 0 ? "206 Partial" : "200 OK")\r\nETag: \"a\"\r\n\(start > 0 ? partial : "")"
                        + "Content-Length: \(content.count - start)\r\n\r\n")
                // The first answer stops in its midst, so that it is not whole before it is cancelled.
                if start == 0 {
                    connection.write(Array(content.prefix(2 << 20)))
                    return connection.awaitEnd()
                }
                guard connection.write(Array(content[start...])) else { return }
            }
        }
        let request = LoadRequest(.get, try server.url())
        let first = session.downloadTask(for: request, to: directory.file("file"), isResumable: true)
        first.resume()
        for await progress in first.received where progress.completed > 1 << 20 { break }
        first.cancel()
        await #expect(throws: LoadError(.cancelled, "")) { _ = try await first.value }
        #expect(!FileManager.default.fileExists(atPath: directory.file("file")))
        let second = session.downloadTask(for: request, to: directory.file("file"), isResumable: true)
        #expect(try await second.value.status.code == 206)
        #expect(FileManager.default.contents(atPath: directory.file("file")).map(Array.init) == content)
        #expect(ranges.withLock { $0.count } == 2 && ranges.withLock { $0[1] } != nil)
    }
}
