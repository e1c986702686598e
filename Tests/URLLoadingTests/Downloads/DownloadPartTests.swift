import FoundationEssentials
import HTTPTypes
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing

@testable import SallyportURLLoading

/// Servers that send less than was asked for. No part becomes the file before an answer proves that nothing is missing.
@Suite(.timeLimit(.minutes(1))) struct DownloadPartTests {
    private let folder: TemporaryDirectory
    private var target: String { folder.file("file") }
    private var isPublished: Bool { FileManager.default.fileExists(atPath: target) }
    private var content: String? {
        FileManager.default.contents(atPath: target).map { String(decoding: $0, as: UTF8.self) }
    }

    init() throws { folder = try TemporaryDirectory() }

    /// What a broken-off answer of unknown length leaves: the first 5 bytes of "helloworld".
    private func leavePart() async throws {
        var file = try PartialFile.open(for: target)
        let head = HTTPResponse(status: .ok, headerFields: [.eTag: "\"a\""])
        try file.restart(as: Resumption(of: .get("http://a.example/"), answered: head))
        try file.write(Array("hello".utf8))
        try await file.keep()
    }

    private static func part(_ range: String, _ chunks: String...) -> StubAnswer {
        StubAnswer(
            status: .partialContent, fields: [.contentRange: "bytes \(range)"], chunks: chunks.map { Array($0.utf8) })
    }

    private static func end(_ range: String?) -> StubAnswer {
        var fields = HTTPFields()
        fields[.contentRange] = range
        return StubAnswer(status: .rangeNotSatisfiable, fields: fields)
    }

    private static let whole = StubAnswer(fields: [.contentLength: "10"], chunks: [Array("helloworld".utf8)])

    @discardableResult
    private func resume(
        _ fixture: Fixture, _ progress: (TransferProgress) -> Void = { _ in }
    ) async throws -> HTTPResponse.Status {
        try await fixture.loading.session.resumeDownload(
            for: .get("http://a.example/"), to: target, progress: progress
        ).status
    }

    private func ranges(_ fixture: Fixture) -> [String?] { fixture.client.requests.map { $0.headerFields[.range] } }

    @Test func aPartOfAWholeOfUnknownLengthIsNoWhole() async throws {
        try await leavePart()
        let fixture = Fixture(answers: [Self.part("5-7/*", "wor"), Self.part("8-9/*", "ld"), Self.end("bytes */10")])
        var steps: [TransferProgress] = []
        let status = try await resume(fixture) { step in
            #expect(!isPublished)
            steps.append(step)
        }
        #expect(status == .partialContent && content == "helloworld")
        #expect(ranges(fixture) == ["bytes=5-", "bytes=8-", "bytes=10-"])
        #expect(steps.dropLast().allSatisfy { $0.total == nil })
        #expect(steps.last == TransferProgress(completed: 10, total: 10))
    }

    @Test func aPartOfAWholeOfKnownLengthIsFollowedByTheNext() async throws {
        try await leavePart()
        let fixture = Fixture(answers: [Self.part("5-7/10", "wor"), Self.part("8-9/10", "ld")])
        #expect(try await resume(fixture) == .partialContent)
        #expect(content == "helloworld" && ranges(fixture) == ["bytes=5-", "bytes=8-"])
    }

    @Test(arguments: [nil, "bytes */9", "bytes */11"] as [String?])
    func theWholeIsLoadedIfTheEndIsNotProved(_ range: String?) async throws {
        try await leavePart()
        let fixture = Fixture(answers: [Self.part("5-9/*", "WORLD"), Self.end(range), Self.whole])
        #expect(try await resume(fixture) == .ok)
        #expect(content == "helloworld" && ranges(fixture) == ["bytes=5-", "bytes=10-", nil])
    }

    @Test func partsThatCameAreKeptWhenTheNextDoesNot() async throws {
        try await leavePart()
        let fixture = Fixture(answers: [
            Self.part("5-7/*", "wor"), StubAnswer(status: .serviceUnavailable), Self.part("8-9/10", "ld"),
        ])
        #expect(try await resume(fixture) == .serviceUnavailable)
        #expect(!isPublished)
        #expect(try await resume(fixture) == .partialContent)
        #expect(content == "helloworld" && ranges(fixture) == ["bytes=5-", "bytes=8-", "bytes=8-"])
    }

    @Test func bytesBehindTheRangeAreNotGoneOnWith() async throws {
        try await leavePart()
        let fixture = Fixture(answers: [Self.part("5-7/*", "wor", "XX"), Self.part("8-9/10", "ld")])
        await #expect(throws: LoadError(.protocolViolation, "")) { try await resume(fixture) }
        #expect(!isPublished)
        try await resume(fixture)
        #expect(content == "helloworld" && ranges(fixture) == ["bytes=5-", "bytes=8-"])
    }

    @Test func afterAHundredPartsTheWholeIsLoaded() async throws {
        try await leavePart()
        let client = StubClient { request throws(LoadError) in
            guard let range = request.headerFields[.range] else { return Self.whole }
            let first = range.drop { !$0.isNumber }.dropLast()
            return Self.part("\(first)-\(first)/*", "x")
        }
        let fixture = Fixture(client: client)
        #expect(try await resume(fixture) == .ok)
        #expect(client.requests.count == Resumption.maximumSmallParts + 1 && content == "helloworld")
    }

    @Test(arguments: [false, true]) func aPartThatWasNotAskedForIsRefused(isResumable: Bool) async throws {
        let fixture = Fixture(answers: [Self.part("0-4/10", "hello")])
        let request = try LoadRequest.get("http://a.example/")
        await #expect(throws: LoadError(.protocolViolation, "")) {
            let session = fixture.loading.session
            return try await isResumable
                ? session.resumeDownload(for: request, to: target) : session.download(for: request, to: target)
        }
        #expect(!isPublished)
    }

    @Test func aPartThatTheAppAskedForIsItsFile() async throws {
        let fixture = Fixture(answers: [Self.part("0-4/10", "hello")])
        var request = try LoadRequest.get("http://a.example/")
        request.headerFields[.range] = "bytes=0-4"
        #expect(try await fixture.loading.session.download(for: request, to: target).status == .partialContent)
        #expect(content == "hello")
    }
}
