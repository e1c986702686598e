import Foundation
import FoundationNetworking
import SallyportBase
import SallyportCore
import SallyportFoundationBridge
import SallyportLoading
import SallyportURLLoading
import TestSupport
import Testing

/// What servers see of native requests.
@Suite(.timeLimit(.minutes(2))) struct RequestTests {
    private let tenant = Tenant()
    private let server: RecordingServer

    init() throws { server = try RecordingServer(body: "ok") }

    private func request(_ method: String = "POST", _ path: String = "/") throws -> URLRequest {
        var request = try URLRequest(url: server.url(path))
        request.httpMethod = method
        return request
    }

    @Test func methodTargetAndFieldsArriveAsTheyAre() async throws {
        var request = try request("DELETE", "/a%20b/c?d=e%26f#g")
        request.setValue("one", forHTTPHeaderField: "X-Own")
        request.setValue("from the request", forHTTPHeaderField: "X-Both")
        let session = tenant.native {
            $0.httpAdditionalHeaders = ["X-Both": "from the configuration", "X-Session": "two"]
        }
        _ = try await session.data(for: request)
        let head = try #require(server.seen.first)
        #expect(head.hasPrefix("DELETE /a%20b/c?d=e%26f HTTP/1.1\r\n"))
        for line in ["X-Own: one", "X-Both: from the request", "X-Session: two"] {
            #expect(head.contains("\(line)\r\n"))
        }
        #expect(!head.contains("from the configuration"))
    }

    /// What a request says of cookies goes by the secure session's rules.
    @Test func aRequestsCookieSettingIsAdopted() async throws {
        let watching = Watching()
        var configuration = SessionConfiguration()
        configuration.handlers = [watching]
        let session = tenant.native(configuration)
        var request = try request("GET")
        _ = try await session.data(for: request)
        request.httpShouldHandleCookies = false
        request.mainDocumentURL = URL(string: "https://news.test/x")
        _ = try await session.data(for: request)
        let seen = watching.seen.withLock { $0 }
        #expect(seen.map(\.handlesCookies) == [nil, false])
        #expect(seen.map { $0.mainDocument?.description } == [nil, "https://news.test/x"])
    }

    /// Without its document the request would be sent as one of its own site, with that site's cookies.
    @Test func aMainDocumentWithoutAValidURLFailsTheTask() async throws {
        var request = try request("GET")
        request.mainDocumentURL = URL(string: "https://user:planted@news.test/")
        let error = try await failure { [request] in _ = try await tenant.native().data(for: request) }
        #expect(error.code == .badURL && error.loadError?.code == .invalidRequest && server.seen.isEmpty)
        #expect(!"\(error) \(error.userInfo)".contains("planted"))
    }

    /// Sees the options of all requests, and takes none.
    private final class Watching: RequestHandler {
        let seen = Lock<[LoadOptions]>([])

        func canHandle(_ request: LoadRequest) -> Bool {
            seen.withLock { $0.append(request.options) }
            return false
        }

        func load(_ request: LoadRequest, into response: ResponseWriter) async throws {}
    }

    @Test func bodiesOfDataTasksArrive() async throws {
        var request = try request()
        request.httpBody = Data("a=b".utf8)
        _ = try await tenant.native().data(for: request)
        let seen = try #require(server.seen.first)
        #expect(seen.hasSuffix("\r\n\r\na=b"))
        #expect(seen.lowercased().contains("content-type: application/x-www-form-urlencoded"))
    }

    @Test(arguments: [nil, "600000"]) func streamsArriveWithTheirLength(length: String?) async throws {
        let body = String(repeating: "0123456789", count: 60_000)
        var request = try request("PUT")
        request.httpBodyStream = InputStream(data: Data(body.utf8))
        request.setValue(length, forHTTPHeaderField: "Content-Length")
        _ = try await tenant.native().data(for: request)
        let seen = try #require(server.seen.first)
        if length == nil {
            #expect(seen.lowercased().contains("transfer-encoding: chunked"))
        } else {
            #expect(seen.hasSuffix(body) && seen.contains("Content-Length: 600000\r\n"))
        }
        #expect(seen.utf8.count >= 600_000)
    }

    @Test func uploadTasksSendTheirBodies() async throws {
        let file = try TemporaryDirectory().write("of a file", to: "body")
        _ = try await tenant.native().upload(for: request(), from: Data("of data".utf8))
        let directory = try TemporaryDirectory()
        try directory.write("of a file", to: "body")
        _ = try await tenant.native().upload(
            for: request("PUT"), fromFile: URL(fileURLWithPath: directory.file("body")))
        let collector = Collector(stream: Data("of a delegate".utf8))
        tenant.native(delegate: collector).uploadTask(withStreamedRequest: try request("PUT")).resume()
        #expect(try await collector.end().error == nil)
        #expect(server.seen.count == 3 && !file.isEmpty)
        #expect(server.seen[0].hasSuffix("of data"))
        #expect(server.seen[1].hasSuffix("of a file"))
        #expect(server.seen[2].contains("of a delegate"))
    }

    /// A mistake of the app's, which must not end its process.
    @Test func aBodyThatADelegateGivesTwiceIsSentOnce() async throws {
        let collector = Collector(stream: Data("of a delegate".utf8), answers: 2)
        tenant.native(delegate: collector).uploadTask(withStreamedRequest: try request("PUT")).resume()
        #expect(try await collector.end().error == nil)
        #expect(server.seen.count == 1 && server.seen[0].contains("of a delegate"))
    }

    @Test func aStreamThatIsMissingFailsTheTask() async throws {
        let collector = Collector()
        tenant.native(delegate: collector).uploadTask(withStreamedRequest: try request()).resume()
        #expect((try await collector.end().error as? URLError)?.code == .requestBodyStreamExhausted)
    }

    @Test(arguments: ["http://user:planted@127.0.0.1:9/", "http://127.0.0.1:99999/", "http:///nowhere"])
    func badURLsFail(text: String) async throws {
        let url = try #require(URL(string: text))
        let error = try await failure { _ = try await tenant.native().data(from: url) }
        #expect(error.code == .badURL && error.loadError?.code == .invalidRequest)
        #expect(!"\(error) \(error.userInfo)".contains("planted"))
        #expect(tenant.gate.asked == 0)
    }

    @Test func fieldsThatHTTPCannotCarryFail() async throws {
        var request = try request("GET")
        request.setValue("planted", forHTTPHeaderField: "X Own")
        let error = try await failure { [request] in _ = try await tenant.native().data(for: request) }
        #expect(error.code == .badURL && server.seen.isEmpty)
        #expect(!"\(error) \(error.userInfo)".contains("planted"))
    }

    @Test func aFieldDoesNotReachIntoTheNextLine() async throws {
        var request = try request("GET")
        request.setValue("a\r\nX-Injected: planted", forHTTPHeaderField: "X-Own")
        _ = try? await tenant.native().data(for: request)
        let session = tenant.native { $0.httpAdditionalHeaders = ["X-Own": "a\r\nX-Injected: planted"] }
        let url = try server.url()
        let error = try await failure { _ = try await session.data(from: url) }
        #expect(error.code == .badURL)
        #expect(!server.seen.contains { $0.contains("X-Injected") })
    }

    @Test func onlyAStoredAnswerIsNone() async throws {
        var request = try request("GET")
        request.cachePolicy = .returnCacheDataDontLoad
        let error = try await failure { [request] in _ = try await tenant.native().data(for: request) }
        #expect(error.code == .resourceUnavailable && error.loadError?.code == .notInCache && server.seen.isEmpty)
        request.cachePolicy = .reloadIgnoringLocalAndRemoteCacheData
        _ = try await tenant.native().data(for: request)
        #expect(server.seen.last?.lowercased().contains("cache-control: no-cache") == true)
    }

    @Test(arguments: [true, false]) func idleTimesAreTheRequestsOrTheConfigurations(isRequests: Bool) async throws {
        let silent = try TestServer { $0.awaitEnd() }
        var request = try URLRequest(url: silent.native())
        if isRequests { request.timeoutInterval = 0.3 }
        let session = tenant.native { if !isRequests { $0.timeoutIntervalForRequest = 0.3 } }
        let error = try await failure { [request] in _ = try await session.data(for: request) }
        #expect(error.code == .timedOut && error.loadError?.code == .idleTimeout)
    }

    @Test func theTimeForAResourceIsTheConfigurations() async throws {
        let silent = try TestServer { $0.awaitEnd() }
        let url = try silent.native()
        let session = tenant.native { $0.timeoutIntervalForResource = 0.3 }
        let error = try await failure { _ = try await session.data(from: url) }
        #expect(error.code == .timedOut && error.loadError?.code == .resourceTimeout)
    }
}
