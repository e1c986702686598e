import Foundation
import HTTPTypes
internal import SallyportBase
import SallyportCassette
internal import SallyportCore
public import SallyportLoading
import SallyportPluginConformance
public import SallyportURLLoading
import TestSupport
import Testing

// The plugin that Docs/Plugins.md writes. What stands there is what stands here: a test compares them.

/// Loads `count:N`: the numbers from 1 to N, one a line.
public struct CountHandler: ProtocolHandler {
    public init() {}

    public static func canHandle(_ request: LoadRequest) -> Bool { request.url.scheme == "count" }

    public func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        guard request.method == .get else { throw LoadError(.invalidRequest, "A count is read with GET.") }
        guard let last = Int(request.url.path), (0...1_000_000).contains(last) else {
            throw LoadError(.invalidRequest, "A count goes up to a million.")
        }
        try response.begin(HTTPResponse(status: .ok, headerFields: [.contentType: "text/plain"]))
        var chunk: [UInt8] = []
        for number in 0..<last {
            chunk += "\(number + 1)\n".utf8
            guard chunk.count >= 16_384 else { continue }
            try await response.write(chunk)  // returns when there is room for more
            chunk = []
        }
        try await response.write(chunk)
    }
}

extension CountHandler {
    public static func canonicalForm(of request: LoadRequest) -> LoadRequest {
        guard let last = Int(request.url.path), let url = try? RequestURL("count:\(last)") else { return request }
        var request = request
        request.url = url
        return request
    }
}

@Test func countURLsConform() async throws {
    let report = await PluginConformance(
        CountHandler.self,
        samples: [
            .answers("three", try .get("count:3"), body: Array("1\n2\n3\n".utf8)),
            .answers("several chunks", try .get("count:+00020000")),
            .answers("nothing", try .get("count:0"), body: []),
            .fails("too many", try .get("count:1000001"), with: .invalidRequest),
            .fails("no number", try .get("count:x"), with: .invalidRequest),
        ]
    ).run()
    #expect(report.violations.isEmpty, "\(report)")
}

/// Loads `greet:NAME` with the greeting that the app wants.
struct GreetHandler: RequestHandler {
    var greeting: String

    func canHandle(_ request: LoadRequest) -> Bool { request.url.scheme == "greet" }

    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        try response.begin(HTTPResponse(status: .ok))
        try await response.write(Array("\(greeting), \(request.url.path)!".utf8))
    }
}

/// Sends the name of the app with every request, and removes the name of the server from every answer.
struct NamingHandler: RequestHandler {
    func canHandle(_ request: LoadRequest) -> Bool { request.url.endpoint != nil }

    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        var request = request
        request.headerFields[.userAgent] = "report/1.0"
        var answer = try await response.loadHTTP(request)
        answer.head.headerFields[.server] = nil
        try await response.forward(answer)
    }
}

/// Loads `engine:/PATH` from what listens at the one socket that the app means.
struct EngineHandler: RequestHandler {
    var socket: String

    func canHandle(_ request: LoadRequest) -> Bool { request.url.scheme == "engine" }

    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        guard let url = try? RequestURL("http://engine\(request.url.path)") else {
            throw LoadError(.invalidRequest, "The URL has no path.")
        }
        try await response.forward(response.exchange(request, as: url, with: .unixSocket(socket)))
    }
}

private let loading = URLLoadingSystem(gate: OpenGate())

func reports(from url: String, cassette path: String) async throws -> String {
    let cassette = try await Cassette.open(path, mode: .recordIfMissing)
    var configuration = SessionConfiguration()
    configuration.handlers = [cassette]
    let session = loading.makeSession(configuration)
    let text = try await session.data(for: .get(url)).body
    try await cassette.save()
    #expect(await cassette.unusedExchanges.isEmpty)
    return String(decoding: text, as: UTF8.self)
}

@Suite struct GuideTests {
    @Test func handlersThatTheAppMakesConform() async throws {
        let samples: [SampleRequest] = [
            .answers("greeting", try .get("greet:world"), body: Array("Hello, world!".utf8))
        ]
        let report = await PluginConformance(samples: samples) { GreetHandler(greeting: "Hello") }.run()
        #expect(report.violations.isEmpty, "\(report)")
    }

    @Test func aHandlerStandsInFrontOfTheSessionsOwnWay() async throws {
        let heads = Lock("")
        let server = try TestServer { connection in
            while let head = connection.readHead() {
                heads.withLock { $0 = head }
                connection.write("HTTP/1.1 200 OK\r\nServer: secret\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        var configuration = SessionConfiguration()
        configuration.handlers = [NamingHandler()]
        let request = LoadRequest(.get, try server.url())
        let answer = try await loading.makeSession(configuration).data(for: request)
        let (body, response) = (answer.body, answer.head)
        #expect(body == Array("ok".utf8) && response.headerFields[.server] == nil)
        #expect(heads.withLock { $0 }.lowercased().contains("user-agent: report/1.0"))
    }

    @Test func aHandlerWithoutItsPeerCannotConnect() async throws {
        var configuration = SessionConfiguration()
        configuration.handlers = [EngineHandler(socket: try TemporaryDirectory().file("nobody.sock"))]
        await #expect(throws: LoadError(.cannotConnect, "")) {
            try await loading.makeSession(configuration).data(for: .get("engine:/version"))
        }
    }

    @Test func aCassetteNeedsItsServerOnce() async throws {
        let server = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        let folder = try TemporaryDirectory()
        let (url, path) = ("\(try server.url())", folder.file("report.json"))
        #expect(try await reports(from: url, cassette: path) == "ok")
        server.stop()
        #expect(try await reports(from: url, cassette: path) == "ok")
    }

    @Test func theGuideShowsThisCode() throws {
        let guide = try String(
            contentsOf: Programs.repository.appending(path: "Docs/Plugins.md"), encoding: .utf8)
        let tests = try String(contentsOfFile: #filePath, encoding: .utf8)
        let example = try String(
            contentsOf: Programs.repository.appending(path: "Examples/Plugins/main.swift"), encoding: .utf8)
        let blocks = guide.components(separatedBy: "```swift\n").dropFirst()
            .map { $0.components(separatedBy: "```")[0] }
        #expect(blocks.count >= 4)
        for block in blocks where !block.contains(".package(") {
            #expect(tests.contains(block) || example.contains(block), "\(block)")
        }
    }
}
