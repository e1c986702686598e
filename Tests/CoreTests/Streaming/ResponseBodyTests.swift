import Testing

@testable import SallyportBase
@testable import SallyportCore
@testable import SallyportLoading

/// A body of given chunks that counts how often it was discarded.
private final class ChunkSource: BodySource {
    let discards = Lock(0)
    private let chunks: Lock<[[UInt8]]>

    init(_ chunks: [[UInt8]]) { self.chunks = Lock(chunks) }

    func next() async throws(LoadError) -> [UInt8]? { chunks.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
    func discard() { discards.withLock { $0 += 1 } }
}

@Suite struct ResponseBodyTests {
    @Test func collectsUpToTheLimitButNotBeyond() async throws {
        let source = ChunkSource([[1, 2], [3]])
        #expect(try await ResponseBody(source).collect(upTo: .bytes(3)) == [1, 2, 3])
        let longer = ChunkSource([[1, 2], [3], [4]])
        let body = ResponseBody(longer)
        await #expect(throws: LoadError(.responseTooLarge, "")) { try await body.collect(upTo: .bytes(3)) }
        #expect(longer.discards.withLock { $0 } == 1)
        await #expect(throws: LoadError(.responseTooLarge, "")) {
            try await ResponseBody([1]).collect(upTo: .bytes(0))
        }
        #expect(try await ResponseBody().collect(upTo: .bytes(0)) == [])
    }

    @Test func anUnreadBodyEndsItsTransfer() {
        let source = ChunkSource([[1]])
        _ = ResponseBody(source)
        #expect(source.discards.withLock { $0 } == 1)
    }

    @Test func aLoopThatIsLeftEarlyEndsTheTransfer() async throws {
        let source = ChunkSource([[1], [2]])
        let body = ResponseBody(source)
        for try await _ in body { break }
        #expect(source.discards.withLock { $0 } == 1)
        withExtendedLifetime(body) {}
    }

    /// The loop alone keeps the body.
    @Test func aLoopReadsTheWholeBodyWithoutAnotherReference() async throws {
        let source = ChunkSource([[1], [2], [3]])
        var bytes: [UInt8] = []
        for try await chunk in ResponseBody(source) {
            #expect(source.discards.withLock { $0 } == 0)
            bytes += chunk
        }
        #expect(bytes == [1, 2, 3])
    }

    @Test func byteCountsSayTheirUnit() {
        #expect(ByteCount.mebibytes(1) == .kibibytes(1024) && ByteCount.kibibytes(1) == .bytes(1024))
        #expect(ByteCount.bytes(1) < .bytes(2))
        #expect("\(ByteCount.bytes(7))" == "7 bytes")
    }
}
