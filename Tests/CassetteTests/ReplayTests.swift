import Foundation
import Glibc
import HTTPTypes
import SallyportBase
import SallyportCassette
import SallyportCore
import SallyportLoading
import SallyportPluginConformance
import SallyportURLLoading
import TestSupport
import Testing

/// What is played, strictly and without a network.
@Suite(.timeLimit(.minutes(2))) struct ReplayTests {
    private let origin: Origin
    private let folder: TemporaryDirectory

    init() throws {
        origin = try Origin()
        folder = try TemporaryDirectory()
    }

    private func cassette(
        _ settings: CassetteSettings = CassetteSettings(), _ load: (SecureSession) async throws -> Void
    ) async throws -> Cassette {
        _ = try await recorded(settings, in: folder, load)
        origin.server.stop()
        return try await Cassette.open(folder.file("cassette.json"), mode: .replay, settings: settings)
    }

    @Test func answersComeAsTheyCame() async throws {
        let targets = ["/one?a=1", "/bytes", "/missing", "/moved", "/long/300000"]
        var real: [LoadAnswer<[UInt8]>] = []
        let cassette = try await cassette { session in
            for target in targets { real.append(try await session.data(for: origin.request(target))) }
            real.append(try await session.data(for: origin.request("/one", .head)))
            real.append(try await session.data(for: origin.request("/one", .put, body: "body")))
        }
        let gate = ClosedGate()
        let session = cassette.session(gate)
        #expect(await cassette.unusedExchanges.count == 7)
        #expect(!cassette.isRecording)
        var played: [LoadAnswer<[UInt8]>] = []
        for target in targets { played.append(try await session.data(for: origin.request(target))) }
        played.append(try await session.data(for: origin.request("/one", .head)))
        played.append(try await session.data(for: origin.request("/one", .put, body: "body")))
        for (real, played) in zip(real, played) {
            #expect(real.body == played.body && real.head.status == played.head.status)
            #expect(real.head.headerFields[.contentType] == played.head.headerFields[.contentType])
            #expect(real.head.headerFields[.contentLength] == played.head.headerFields[.contentLength])
            #expect(played.head.headerFields[.setCookie] == nil)
        }
        #expect(played[2].head.status.reasonPhrase == real[2].head.status.reasonPhrase)
        #expect(await cassette.unusedExchanges.isEmpty)
        #expect(gate.asked == 0)
    }

    /// RFC 9110 §8.6: it is that of the body which a GET would get.
    @Test func aLengthWithoutABodyIsPlayed() async throws {
        let archive = try TestServer { connection in
            while let head = connection.readHead() {
                let status = head.hasPrefix("HEAD") ? "200 OK" : "304 Not Modified"
                connection.write("HTTP/1.1 \(status)\r\nContent-Length: 3000\r\n\r\n")
            }
        }
        let url = try archive.url("/archive")
        let requests = [HTTPRequest.Method.head, .get].map { LoadRequest($0, url) }
        let cassette = try await cassette { session in
            for request in requests { _ = try await session.data(for: request) }
        }
        let session = cassette.session(ClosedGate())
        for request in requests {
            let answer = try await session.data(for: request)
            #expect(answer.head.headerFields[.contentLength] == "3000" && answer.body.isEmpty)
        }
    }

    @Test func aFileHasALimitAndIsNoPipe() async throws {
        let fifo = folder.file("fifo")
        try #require(mkfifo(fifo, 0o600) == 0)
        for path in [fifo, "/dev/zero"] {
            await #expect {
                try await Cassette.open(path, mode: .replay)
            } throws: {
                ($0 as? CassetteError)?.code == .unreadable
            }
        }
        let path = try folder.write(String(repeating: " ", count: 101), to: "long.json")
        var settings = CassetteSettings()
        settings.fileLimit = .bytes(100)
        await #expect {
            try await Cassette.open(path, mode: .replay, settings: settings)
        } throws: {
            ($0 as? CassetteError)?.code == .tooLarge
        }
    }

    @Test func aRedirectsEndIsTheAnswersURL() async throws {
        let cassette = try await cassette { _ = try await $0.data(for: origin.request("/moved")) }
        let response = try await cassette.session(ClosedGate()).bytes(for: origin.request("/moved"))
        #expect("\(response.url)".hasSuffix("/end?token=REDACTED"))
    }

    @Test func eachIsPlayedOnceAndInOrder() async throws {
        let count = Lock(0)
        let counting = try TestServer { connection in
            while connection.readHead() != nil {
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\(number)")
            }
        }
        let request = LoadRequest(.get, try counting.url("/same"))
        let cassette = try await cassette { for _ in 1...3 { _ = try await $0.data(for: request) } }
        let session = cassette.session(ClosedGate())
        for number in 1...3 { #expect(try await session.text(request) == "\(number)") }
        let error = try await mismatch { _ = try await session.data(for: request) }
        #expect(error.code == .notRecorded && error.message.contains("all its recordings were played"))
    }

    @Test(arguments: [
        ("/one?a=2", HTTPRequest.Method.get, String?.none, "another query"),
        ("/one?a=1", .delete, nil, "another method"),
        ("/one?a=1", .get, "body", "another body"), ("/two?a=1", .get, nil, "another URL"),
    ])
    func unrecordedRequestsFailAndNameTheNearest(
        target: String, method: HTTPRequest.Method, body: String?, told: String
    ) async throws {
        let cassette = try await cassette { session in
            _ = try await session.data(for: origin.request("/one?a=1"))
            _ = try await session.data(for: origin.request("/far/away", .put, body: "x"))
        }
        let gate = ClosedGate()
        let error = try await mismatch {
            _ = try await cassette.session(gate).data(for: origin.request(target, method, body: body))
        }
        #expect(error.code == .notRecorded && error.message.contains("nearest is exchange 1, GET http://127.0.0.1:"))
        #expect(error.message.contains("with \(told)") && error.message.hasPrefix("\(method) http://127.0.0.1:"))
        #expect(!error.message.contains("a=2"))
        #expect(await cassette.unusedExchanges.count == 2)
        #expect(gate.asked == 0)
    }

    @Test func nothingIsNearestInAnEmptyCassette() async throws {
        let cassette = Cassette(replaying: Recording())
        let error = try await mismatch { _ = try await cassette.session(OpenGate()).data(for: origin.request("/")) }
        #expect(error.message.hasSuffix("was not recorded; nothing was."))
        #expect(origin.server.acceptedConnections == 0)
    }

    @Test func bodiesAreComparedAfterRedaction() async throws {
        var settings = CassetteSettings()
        settings.redact = { _, body in
            Array(String(decoding: body, as: UTF8.self).replacing(/id=[0-9]+/, with: "id=").utf8)
        }
        let cassette = try await cassette(settings) { session in
            _ = try await session.data(for: origin.request("/x", .post, body: "id=1 same"))
        }
        let session = cassette.session(ClosedGate())
        await #expect(throws: LoadError.self) {
            _ = try await session.data(for: origin.request("/x", .post, body: "id=2 other"))
        }
        #expect(try await session.text(origin.request("/x", .post, body: "id=22 same")) == "POST /x id= same")
    }

    @Test func secretParametersAndFieldsThatAreNotMatchedMayDiffer() async throws {
        var settings = CassetteSettings()
        settings.matchedFields = [.accept]
        let cassette = try await cassette(settings) { session in
            var request = try origin.request("/x?token=one")
            request.headerFields = [.accept: "text/plain", .authorization: "Bearer one", .userAgent: "one"]
            _ = try await session.data(for: request)
        }
        let session = cassette.session(ClosedGate())
        var request = try origin.request("/x?token=two")
        request.headerFields = [.accept: "text/html", .userAgent: "two"]
        let error = try await mismatch { [request] in _ = try await session.data(for: request) }
        #expect(error.message.contains("another header") && !error.message.contains("text/"))
        request.headerFields[.accept] = "text/plain"
        _ = try await session.data(for: request)
        #expect(await cassette.unusedExchanges.isEmpty)
    }

    @Test func aMissingFileIsRecordedAndThenPlayed() async throws {
        let path = folder.file("new.json")
        await #expect { _ = try await Cassette.open(path, mode: .replay) } throws: {
            ($0 as? CassetteError)?.code == .unreadable
        }
        let first = try await Cassette.open(path, mode: .recordIfMissing)
        #expect(first.isRecording)
        _ = try await first.session(OpenGate()).data(for: origin.request("/one"))
        try await first.save()
        let second = try await Cassette.open(path, mode: .recordIfMissing)
        #expect(!second.isRecording)
        #expect(await second.unusedExchanges.count == 1)
        try await second.save()
    }

    @Test func theSameExchangesMakeTheSameFile() async throws {
        let loads: (SecureSession) async throws -> Void = { session in
            for target in ["/one", "/bytes", "/two?b=1&a=2"] {
                _ = try await session.data(for: origin.request(target))
            }
        }
        let (first, second) = (try await recorded(in: folder, loads), try await recorded(in: folder, loads))
        #expect(first == second)
    }

    /// A strict cassette answers a request once, so each load gets a new one.
    @Test func replaysConform() async throws {
        let file = try await recorded(in: folder) { session in
            _ = try await session.data(for: origin.request("/one"))
            _ = try await session.data(for: origin.request("/long/500000"))
            _ = try await session.data(for: origin.request("/missing", .put, body: String(repeating: "a", count: 1000)))
        }
        let recording = try Recording(file: Array(file.utf8))
        let large = [UInt8](repeating: 97, count: 500_000)
        let report = try await PluginConformance(
            samples: [
                .answers("short", origin.request("/one"), body: Array("GET /one ".utf8)),
                .answers("several chunks", origin.request("/long/500000"), body: large),
                .answers(
                    "upload", origin.request("/missing", .put, body: String(repeating: "a", count: 1000)),
                    status: .notFound),
                .fails("not recorded", origin.request("/other"), with: .handlerFailed),
            ],
            { Cassette(replaying: recording) }
        ).run()
        #expect(report.violations.isEmpty, "\(report)")
        #expect(report.loads > 100)
    }
}
