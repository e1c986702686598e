import Foundation
import HTTPTypes
import SallyportBase
import SallyportCassette
import SallyportCore
import SallyportLoading
import SallyportURLLoading
import TestSupport
import Testing

/// What is recorded of real exchanges, and what is not.
@Suite(.timeLimit(.minutes(1))) struct RecordTests {
    private let origin: Origin
    private let folder: TemporaryDirectory

    init() throws {
        origin = try Origin()
        folder = try TemporaryDirectory()
    }

    private var path: String { folder.file("cassette.json") }

    @Test func noSecretIsInTheFile() async throws {
        var settings = CassetteSettings()
        settings.secretFields = [.init("X-Own-Key")!, .init("X-Reply")!]
        settings.secretParameters.insert("own")
        settings.matchedFields = [.accept, .authorization, .referer, .init("X-Own-Key")!]
        settings.recordsRequestBodies = true
        settings.redact = { side, body in
            let text = String(decoding: body, as: UTF8.self)
            return Array(text.replacingOccurrences(of: "planted-body", with: side == .request ? "-" : "*").utf8)
        }
        let file = try await recorded(settings, in: folder) { session in
            var request = try origin.request(
                "/x?Access%5Ftoken=planted-query&own=planted-own&kept=1#planted-fragment", .post, body: "planted-body")
            for name in ["Authorization", "Proxy-Authorization", "Cookie", "X-Good-GD-AuthToken", "X-Own-Key"] {
                request.headerFields[.init(name)!] = "planted-\(name)"
            }
            request.headerFields[.accept] = "text/plain"
            request.headerFields[.referer] = "https://a.example/?token=planted-referer&kept=2#planted-fragment"
            let answer = try await session.data(for: request)
            let (body, response) = (answer.body, answer.head)
            // The app gets what came.
            #expect(String(decoding: body, as: UTF8.self).hasSuffix(" planted-body"))
            #expect(response.headerFields[.setCookie] == "a=planted-cookie")
            _ = try await session.data(for: origin.request("/moved"))
            var unfollowed = try origin.request("/moved?again")
            unfollowed.options.followsRedirects = false
            _ = try await session.data(for: unfollowed)
        }
        // The answer's own text tells the query, which is what `redact` is for; the rest of it must not be there.
        let rest = file.replacingOccurrences(of: "planted-query", with: "").replacingOccurrences(
            of: "planted-own", with: ""
        )
        .replacingOccurrences(of: "GET /end?token=planted-token", with: "")
        #expect(!rest.contains("planted"), "\(file)")
        #expect(file.components(separatedBy: "planted-query").count == 2)
        #expect(file.contains("kept=1") && file.contains("kept=2"))
        #expect(file.contains("\"accept\"") && file.contains("X-Kind"))
        #expect(file.contains("\"version\" : 1") && file.contains("REDACTED"))
    }

    @Test func bodiesOfRequestsAreDigestsUnlessAskedFor() async throws {
        let file = try await recorded(in: folder) { session in
            _ = try await session.data(for: origin.request("/long/3", .post, body: "planted-body"))
        }
        #expect(!file.contains("planted-body") && file.contains("bodyDigest"))
    }

    @Test func theFileAppearsWithSaveOnly() async throws {
        let cassette = try await Cassette.open(path, mode: .record)
        #expect(cassette.isRecording)
        _ = try await cassette.session(OpenGate()).data(for: origin.request("/one"))
        #expect(!FileManager.default.fileExists(atPath: path))
        try await cassette.save()
        let recording = try Recording(file: Array(Data(contentsOf: URL(filePath: path))))
        #expect(recording.exchanges.map(\.method) == ["GET"])
        #expect(recording.exchanges.first?.status == 200)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["cassette.json"])
    }

    @Test func aFileThatWouldBeTooLongReplacesNothing() async throws {
        try folder.write("before", to: "cassette.json")
        var settings = CassetteSettings()
        settings.fileLimit = .bytes(100)
        let cassette = try await Cassette.open(path, mode: .record, settings: settings)
        _ = try await cassette.session(OpenGate()).data(for: origin.request("/one"))
        await #expect { try await cassette.save() } throws: { ($0 as? CassetteError)?.code == .tooLarge }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "before")
        let away = try await Cassette.open(folder.file("no/such/folder.json"), mode: .record)
        await #expect { try await away.save() } throws: { ($0 as? CassetteError)?.code == .unwritable }
    }

    @Test(arguments: [(1000, true), (1001, false)]) func aBodyHasALimit(count: Int, fits: Bool) async throws {
        var settings = CassetteSettings()
        settings.bodyLimit = .bytes(1000)
        let cassette = try await Cassette.open(path, mode: .record, settings: settings)
        let session = cassette.session(OpenGate())
        let load = { _ = try await session.data(for: origin.request("/long/\(count)")) }
        let upload = {
            try await session.data(for: origin.request("/", .put, body: String(repeating: "a", count: count)))
        }
        if fits {
            try await load()
            // The answer repeats the body.
            _ = try await mismatch { _ = try await upload() }
        } else {
            #expect(try await mismatch(load).code == .tooLarge)
            #expect(try await mismatch { _ = try await upload() }.code == .tooLarge)
        }
        #expect(await cassette.recording.exchanges.count == (fits ? 1 : 0))
    }

    @Test func exchangesHaveALimit() async throws {
        var settings = CassetteSettings()
        settings.exchangeLimit = 2
        let cassette = try await Cassette.open(path, mode: .record, settings: settings)
        let session = cassette.session(OpenGate())
        for number in 1...2 { _ = try await session.data(for: origin.request("/\(number)")) }
        let error = try await mismatch { _ = try await session.data(for: origin.request("/3")) }
        #expect(error.code == .tooManyExchanges)
        #expect(await cassette.recording.exchanges.count == 2)
    }

    @Test func aLoadThatFailsLeavesItsRoomToOthers() async throws {
        var settings = CassetteSettings()
        settings.exchangeLimit = 1
        let cassette = try await Cassette.open(path, mode: .record, settings: settings)
        let session = cassette.session(OpenGate())
        let gone = try TestServer { _ in }
        let request = LoadRequest(.get, try gone.url())
        gone.stop()
        for _ in 1...2 {
            let error = await #expect(throws: LoadError.self) { _ = try await session.data(for: request) }
            #expect(error != nil && (error?.underlying as? CassetteError) == nil)
        }
        _ = try await session.data(for: origin.request("/one"))
        #expect(await cassette.recording.exchanges.count == 1)
    }

    @Test func partlyReadAnswersAreNotRecorded() async throws {
        let cassette = try await Cassette.open(path, mode: .record)
        let session = cassette.session(OpenGate())
        let response = try await session.bytes(for: origin.request("/long/3000000"))
        _ = try await response.body.next()
        response.body.discard()
        await #expect(throws: LoadError(.responseTooLarge, "")) {
            _ = try await session.data(for: origin.request("/long/3000000"), upTo: .bytes(10))
        }
        #expect(await cassette.recording.exchanges.isEmpty)
    }

    @Test func thePolicyOfTheSessionHolds() async throws {
        let cassette = try await Cassette.open(path, mode: .record)
        let gate = ClosedGate()
        await #expect(throws: LoadError(.refusedByPolicy, "")) {
            _ = try await cassette.session(gate).data(for: origin.request("/"))
        }
        #expect(await cassette.recording.exchanges.isEmpty)
        #expect(gate.asked == 1)
    }
}
