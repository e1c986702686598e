import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportURLLoading

/// How a handler reads the body of a request.
@Suite(.timeLimit(.minutes(1))) struct RequestBodyReadingTests {
    private static let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }

    private func chunks(_ body: RequestBody) async throws -> [[UInt8]] {
        let chunks = Lock<[[UInt8]]>([])
        try await body.read { (chunk) throws(LoadError) in chunks.withLock { $0.append(chunk) } }
        return chunks.withLock { $0 }
    }

    @Test func bytesInMemoryComeInChunks() async throws {
        let chunks = try await chunks(.bytes(Self.bytes))
        #expect(Array(chunks.joined()) == Self.bytes && chunks.allSatisfy { $0.count <= 64 << 10 })
        #expect(try await self.chunks(.bytes([])).isEmpty)
    }

    @Test func aFileComesInChunks() async throws {
        let folder = try TemporaryDirectory()
        try folder.write(String(repeating: "0123456789", count: 20_000), to: "body")
        let chunks = try await chunks(.file(folder.file("body")))
        #expect(chunks.map(\.count).reduce(0, +) == 200_000 && chunks.count == 4)
        for path in [folder.path, folder.file("none"), "/dev/zero"] {
            await #expect(throws: LoadError(.fileSystem, "")) { _ = try await self.chunks(.file(path)) }
        }
    }

    /// Counts what it reads in its own state, as a handler that is an actor does.
    private actor Counter {
        private(set) var count = 0

        func read(_ body: RequestBody) async throws {
            try await body.read { (chunk) throws(LoadError) in
                preconditionIsolated()
                count += chunk.count
            }
        }
    }

    @Test func anActorReadsIntoItsState() async throws {
        let folder = try TemporaryDirectory()
        try folder.write("12345", to: "body")
        let counter = Counter()
        try await counter.read(.bytes(Self.bytes))
        try await counter.read(.file(folder.file("body")))
        try await counter.read(.once { try await $0.write(Self.bytes) })
        #expect(await counter.count == 400_005)
    }

    @Test func aStreamIsReadAsFastAsItIsTaken() async throws {
        let written = Lock(0)
        let body = RequestBody.restartable { writer in
            for _ in 0..<1000 {
                try await writer.write([UInt8](repeating: 1, count: 10_000))
                written.withLock { $0 += 10_000 }
            }
        }
        let taken = Lock(0)
        try await body.read { (chunk) throws(LoadError) in
            let ahead = written.withLock { $0 } - taken.withLock { $0 }
            #expect(ahead < 2 << 20)
            taken.withLock { $0 += chunk.count }
        }
        #expect(taken.withLock { $0 } == 10_000_000)
    }

    @Test(arguments: [(200_000, true), (199_999, false)]) func collectingHasALimit(limit: Int, fits: Bool) async throws
    {
        let body = RequestBody.once { try await $0.write(Self.bytes) }
        if fits {
            #expect(try await body.collect(upTo: .bytes(limit)) == Self.bytes)
        } else {
            await #expect(throws: LoadError(.requestBodyFailed, "")) { _ = try await body.collect(upTo: .bytes(limit)) }
        }
    }

    @Test func anErrorOfTheProducerEndsTheReading() async throws {
        struct Failure: Error {}
        let body = RequestBody.once { writer in
            try await writer.write([1])
            throw Failure()
        }
        await #expect(throws: LoadError(.requestBodyFailed, "")) { _ = try await body.collect(upTo: .mebibytes(1)) }
    }

    @Test func anErrorOfTheReaderEndsTheProducer() async throws {
        let ended = Lock(false)
        let body = RequestBody.once { writer in
            defer { ended.withLock { $0 = true } }
            while true { try await writer.write([UInt8](repeating: 1, count: 1000)) }
        }
        await #expect(throws: LoadError(.cannotConnect, "")) {
            try await body.read { (_) throws(LoadError) in throw LoadError(.cannotConnect, "gone") }
        }
        #expect(ended.withLock { $0 })
    }

    @Test func cancellationEndsTheReading() async throws {
        let body = RequestBody.once { _ in try await Task.sleep(for: .seconds(3600)) }
        let reading = Task { try await body.collect(upTo: .mebibytes(1)) }
        reading.cancel()
        await #expect(throws: LoadError(.cancelled, "")) { _ = try await reading.value }
    }

    /// As one does that iterates over an `AsyncStream`, which ends with the task.
    @Test func aProducerThatReturnsWhenItIsCancelledHasNotWrittenTheWholeBody() async throws {
        let body = RequestBody.once { _ in while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) } }
        let reading = Task { try await body.collect(upTo: .mebibytes(1)) }
        reading.cancel()
        await #expect(throws: LoadError(.cancelled, "")) { _ = try await reading.value }
    }
}

/// Handlers that the app made.
@Suite(.timeLimit(.minutes(1))) struct RequestHandlerTests {
    private let fixture = Fixture()

    private struct Named: RequestHandler {
        var name: String
        var declines = false
        var goesOn = false

        func canHandle(_ request: LoadRequest) -> Bool { request.url.endpoint != nil }

        func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
            if declines { throw RequestDeclined() }
            if goesOn { return try await response.forward(response.loadHTTP(request)) }
            try response.begin(HTTPResponse(status: .ok))
            try await response.write(Array(name.utf8))
        }
    }

    private struct OfType: ProtocolHandler {
        static func canHandle(_ request: LoadRequest) -> Bool { request.url.endpoint != nil }
        func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
            try response.begin(HTTPResponse(status: .ok))
            try await response.write(Array("of a type".utf8))
        }
    }

    private func text(_ handlers: [Named]) async throws -> String {
        var configuration = SessionConfiguration()
        configuration.handlers = handlers
        configuration.protocolClasses = [OfType.self]
        return try await fixture.loading.makeSession(configuration).text("http://host.example/")
    }

    @Test func theyAreAskedInOrderBeforeTypes() async throws {
        #expect(try await text([Named(name: "one"), Named(name: "two")]) == "one")
        #expect(try await text([Named(name: "one", declines: true), Named(name: "two")]) == "two")
        #expect(try await text([Named(name: "one", declines: true)]) == "of a type")
        #expect(fixture.client.urls.isEmpty)
    }

    @Test func theyMayUseTheSessionsOwnWayAndDoNotMeetThemselves() async throws {
        #expect(try await text([Named(name: "one", goesOn: true)]) == "secure")
        #expect(fixture.client.urls == ["http://host.example/"])
    }
}
