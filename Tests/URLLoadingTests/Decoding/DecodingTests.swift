import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import Testing

@testable import SallyportURLLoading

@Suite(.timeLimit(.minutes(2))) struct DecodingTests {
    private let failed = LoadError(.decodingFailed, "")

    private func collect(
        _ chunks: [[UInt8]], _ coding: String, factor: Int = 100, allowance: ByteCount = .mebibytes(1),
        upTo limit: ByteCount = .mebibytes(64)
    ) async throws -> [UInt8] {
        let answer = StubAnswer(fields: [.contentEncoding: coding], chunks: chunks)
        let pipeline = Pipeline([DecodingStage(factor: factor, allowance: allowance)], [answer])
        return try await pipeline.load(.get("http://a.example/")).body.collect(upTo: limit)
    }

    // MARK: Asking

    @Test func compressionIsAskedFor() async throws {
        let pipeline = Pipeline([DecodingStage()], [.text("x")])
        _ = try await pipeline.load(.get("http://a.example/"))
        _ = try await pipeline.load(.get("http://a.example/", headerFields: [.accept: "a/b"]))
        #expect(
            pipeline.client.requests.map { $0.headerFields[.acceptEncoding] } == ["gzip, deflate", "gzip, deflate"])
        #expect(pipeline.client.requests[1].headerFields[.accept] == "a/b")
    }

    @Test(arguments: [HTTPFields([.init(name: .acceptEncoding, value: "gzip")]), [.range: "bytes=0-1"]])
    func aRequestThatNamesACodingGetsTheBodyUndecoded(_ fields: HTTPFields) async throws {
        let encoded = Deflater.compress([1, 2, 3])
        let answer = StubAnswer(
            fields: [.contentEncoding: "gzip", .contentLength: "\(encoded.count)"], chunks: [encoded])
        let pipeline = Pipeline([DecodingStage()], [answer])
        let response = try await pipeline.load(.get("http://a.example/", headerFields: fields))
        #expect(response.head.headerFields[.contentEncoding] == "gzip")
        #expect(try await response.body.collect(upTo: .kibibytes(1)) == encoded)
    }

    @Test func aShortPieceHoldsNoMoreMemoryThanItsBytes() async throws {
        let answer = StubAnswer(fields: [.contentEncoding: "gzip"], chunks: [Deflater.compress([1, 2, 3])])
        let response = try await Pipeline([DecodingStage()], [answer]).load(.get("http://a.example/"))
        let piece = try #require(try await response.body.next())
        #expect(piece == [1, 2, 3])
        #expect(piece.capacity < 1024)
    }

    @Test func theHeadOfADecodedBodyDoesNotSpeakOfTheEncodedOne() async throws {
        let encoded = Deflater.compress(Array("hello".utf8))
        let answer = StubAnswer(
            fields: [.contentEncoding: "gzip", .contentLength: "\(encoded.count)", .eTag: "\"x\""], chunks: [encoded])
        let response = try await Pipeline([DecodingStage()], [answer]).load(.get("http://a.example/"))
        #expect(response.head.headerFields[.contentEncoding] == nil)
        #expect(response.head.headerFields[.contentLength] == nil)
        #expect(response.head.headerFields[.eTag] == "\"x\"")
        #expect(try await response.body.collect(upTo: .bytes(5)) == Array("hello".utf8))
    }

    @Test(arguments: [(HTTPRequest.Method.head, 200), (.get, 204), (.get, 304)])
    func answersWithoutABodyKeepTheirHead(_ method: HTTPRequest.Method, _ status: Int) async throws {
        let answer = StubAnswer(
            status: .init(code: status), fields: [.contentEncoding: "gzip", .contentLength: "99"])
        let pipeline = Pipeline([DecodingStage()], [answer])
        let response = try await pipeline.load(LoadRequest(method, RequestURL("http://a.example/")))
        #expect(response.head.headerFields[.contentLength] == "99")
        #expect(try await response.body.collect(upTo: .bytes(0)) == [])
    }

    // MARK: Decoding

    @Test(arguments: [
        ("gzip", Deflater.Format.gzip), ("X-GZip", .gzip), ("deflate", .zlib), ("deflate", .raw),
        (" gzip , identity", .gzip),
    ])
    func codingsAreDecoded(_ coding: String, _ format: Deflater.Format) async throws {
        let body = Array("the quick brown fox ".utf8) + [UInt8](repeating: 7, count: 300_000)
        let encoded = Deflater.compress(body, format)
        #expect(try await collect([encoded], coding, factor: 1000) == body)
        #expect(try await collect(encoded.map { [$0] }, coding, factor: 1000) == body)
    }

    @Test func anUnknownCodingLeavesTheBodyAsItIs() async throws {
        let answer = StubAnswer(fields: [.contentEncoding: "gzip, br"], chunks: [[1, 2, 3]])
        let response = try await Pipeline([DecodingStage()], [answer]).load(.get("http://a.example/"))
        #expect(response.head.headerFields[.contentEncoding] == "gzip, br")
        #expect(try await response.body.collect(upTo: .bytes(3)) == [1, 2, 3])
    }

    @Test func severalCodingsAreUndoneFromTheLast() async throws {
        let body = Array("layered".utf8)
        let encoded = Deflater.compress(Deflater.compress(Deflater.compress(body, .zlib), .gzip), .raw)
        #expect(try await collect([encoded], "deflate, gzip, deflate") == body)
    }

    @Test func moreThanFourCodingsAreRefused() async throws {
        let body = (0..<4).reduce([UInt8]([1])) { bytes, _ in Deflater.compress(bytes) }
        #expect(try await collect([body], "gzip, gzip, gzip, gzip") == [1])
        await #expect(throws: failed) { try await collect([body], "gzip,gzip,gzip,gzip,gzip") }
    }

    @Test func membersOfGzipFollowEachOther() async throws {
        let encoded = Deflater.compress([1, 2]) + Deflater.compress([3])
        #expect(try await collect([encoded], "gzip") == [1, 2, 3])
        #expect(try await collect(encoded.map { [$0] }, "gzip") == [1, 2, 3])
    }

    @Test func anEmptyBodyIsEmptyWhateverItsCoding() async throws {
        #expect(try await collect([], "gzip") == [])
        #expect(try await collect([], "deflate, gzip") == [])
        #expect(try await collect([Deflater.compress([])], "gzip") == [])
    }

    // MARK: Broken bodies

    @Test(arguments: Deflater.Format.allCases) func truncationAtAnyByteIsAnError(_ format: Deflater.Format) async {
        let encoded = Deflater.compress(Array("some text that is long enough".utf8), format)
        for length in 1..<encoded.count {
            await #expect(throws: failed, "\(length) of \(encoded.count)") {
                try await collect([Array(encoded.prefix(length))], format == .gzip ? "gzip" : "deflate")
            }
        }
    }

    @Test(arguments: [("gzip", Deflater.Format.gzip), ("deflate", .zlib), ("deflate", .raw)])
    func bytesAfterTheEndAreAnError(_ coding: String, _ format: Deflater.Format) async {
        let encoded = Deflater.compress([1, 2, 3], format)
        await #expect(throws: failed) { try await collect([encoded + [0]], coding) }
        await #expect(throws: failed) { try await collect([encoded, [0]], coding) }
    }

    @Test func flippedChecksumsAreErrors() async {
        var encoded = Deflater.compress([1, 2, 3])
        encoded[encoded.count - 8] ^= 1
        let damaged = encoded
        await #expect(throws: failed) { try await collect([damaged], "gzip") }
    }

    @Test func aFailureOfTheTransferIsItsOwn() async throws {
        let encoded = Deflater.compress([UInt8](repeating: 1, count: 100))
        let answer = StubAnswer(
            fields: [.contentEncoding: "gzip"], chunks: [Array(encoded.prefix(12))],
            failure: LoadError(.connectionLost, ""))
        let response = try await Pipeline([DecodingStage()], [answer]).load(.get("http://a.example/"))
        await #expect(throws: LoadError(.connectionLost, "")) { try await response.body.collect(upTo: .mebibytes(1)) }
    }

    @Test func aBrokenBodyEndsTheTransfer() async throws {
        let answer = StubAnswer(fields: [.contentEncoding: "gzip"], chunks: [[1, 2, 3]], staysOpen: true)
        let pipeline = Pipeline([DecodingStage()], [answer])
        let response = try await pipeline.load(.get("http://a.example/"))
        await #expect(throws: failed) { try await response.body.collect(upTo: .mebibytes(1)) }
        #expect(pipeline.client.discards == 1)
    }

    // MARK: The limit

    @Test func aBodyMayGrowToItsLimitButNotBeyond() async throws {
        let body = [UInt8](repeating: 0, count: 50_000)
        let encoded = Deflater.compress(body)
        let allowance = body.count - 2 * encoded.count
        #expect(try await collect([encoded], "gzip", factor: 2, allowance: .bytes(allowance)) == body)
        await #expect(throws: failed) {
            try await collect([encoded], "gzip", factor: 2, allowance: .bytes(allowance - 1))
        }
    }

    @Test func theStandardLimitIsAHundredTimesAndAMebibyte() {
        let limit = InflationLimit(factor: 100, allowance: 1 << 20)
        #expect(limit.longest(for: 0) == 1 << 20)
        #expect(limit.longest(for: 10) == 1000 + 1 << 20)
        #expect(limit.longest(for: .max) == .max)
    }

    @Test func aBombEndsTheLoad() async {
        let bomb = Deflater.compress([UInt8](repeating: 0, count: 32 << 20), level: 9)
        await #expect(throws: failed) { try await collect([bomb], "gzip") }
        let layered = Deflater.compress(bomb, level: 9)
        await #expect(throws: failed) { try await collect([layered], "gzip, gzip") }
    }

    @Test func aBombIsNotUnpackedBeforeItIsRead() async throws {
        let bomb = Deflater.compress([UInt8](repeating: 0, count: 32 << 20), level: 9)
        let answer = StubAnswer(fields: [.contentEncoding: "gzip"], chunks: [bomb])
        let response = try await Pipeline([DecodingStage()], [answer]).load(.get("http://a.example/"))
        let first = try await response.body.next()
        #expect(first?.count == Inflater.pieceLength)
    }

    // MARK: Properties

    @Test func compressedBytesAreRestoredFromPiecesOfAnySize() async throws {
        var generator = SeededGenerator(seed: 20)
        for round in 0..<300 {
            let length = Int.random(in: 0...200_000, using: &generator) >> (round % 12)
            let spread = UInt8([1, 4, 255].randomElement(using: &generator) ?? 1)
            let body = (0..<length).map { _ in UInt8.random(in: 0...spread, using: &generator) }
            let format = Deflater.Format.allCases.randomElement(using: &generator) ?? .gzip
            let encoded = Deflater.compress(body, format, level: Int32.random(in: 0...9, using: &generator))
            let chunks = generator.cut(encoded, upTo: max(1, encoded.count >> Int.random(in: 0...8, using: &generator)))
            let decoded = try await collect(chunks, format == .gzip ? "gzip" : "deflate", factor: 2000)
            #expect(decoded == body, "round \(round)")
        }
    }

    @Test func randomAndDamagedBodiesEndInBytesOrAnError() async throws {
        var generator = SeededGenerator(seed: 21)
        for round in 0..<10_000 {
            var bytes = (0..<Int.random(in: 1...60, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            if round % 2 == 0 {
                bytes = Deflater.compress(bytes, Deflater.Format.allCases[round % 3])
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] ^= UInt8.random(
                    in: 1...255, using: &generator)
            }
            do {
                _ = try await collect(generator.cut(bytes, upTo: 9), ["gzip", "deflate", "gzip, deflate"][round % 3])
            } catch let error as LoadError {
                #expect(error.code == .decodingFailed)
            }
        }
    }
}
