import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing

@testable import SallyportURLLoading

/// Loads from several servers that wait for a connection.
@Suite(.timeLimit(.minutes(1))) struct ServerConnectivityTests {
    private final class Watcher: SessionDelegate {
        let count = Lock(0)
        func session(_ session: SecureSession, isWaitingForConnectivity request: LoadRequest) async {
            count.withLock { $0 += 1 }
        }
    }

    /// The first requests fail with these codes, one after the other; all others are answered.
    private func stub(failingWith codes: [LoadError.Code]) -> StubClient {
        let rest = Lock(codes)
        return StubClient { _ throws(LoadError) in
            let code: LoadError.Code? = rest.withLock { codes in codes.isEmpty ? nil : codes.removeFirst() }
            if let code { throw LoadError(code, at: .connect, "No connection.") }
            return .text("secure")
        }
    }

    private func load(
        _ client: StubClient, of names: [String] = ["a", "b"], body: RequestBody? = nil, watchedBy watcher: Watcher
    ) async throws -> [UInt8] {
        let system = URLLoadingSystem(gate: StubGate(), client: client, system: LoadingEngine(client: client))
        let servers = try names.enumerated().map { place, name in
            ApplicationServer(try Endpoint("\(name).example:81"), priority: place + 1)
        }
        var request = PathRequest(body == nil ? .get : .post, "/", body: body, isSecure: false)
        request.options.waitsForConnectivity = true
        request.options.resourceTimeout = .seconds(20)
        return try await system.session.data(for: request, from: .servers(servers), delegate: watcher).body
    }

    private static func urls(_ names: String...) -> [String] { names.map { "http://\($0).example:81/" } }

    @Test(arguments: [LoadError.Code.cannotFindHost, .cannotConnect, .relayUnreachable])
    func aServerThatCannotBeConnectedGivesWayWithoutAWait(_ code: LoadError.Code) async throws {
        let (client, watcher) = (stub(failingWith: [code]), Watcher())
        #expect(try await load(client, watchedBy: watcher) == Array("secure".utf8))
        #expect(client.urls == Self.urls("a", "b"))
        #expect(watcher.count.withLock { $0 } == 0)
    }

    @Test func ifNoneCanBeConnectedTheLoadWaitsAndBeginsWithTheFirstAgain() async throws {
        let (client, watcher) = (stub(failingWith: [.cannotConnect, .cannotFindHost]), Watcher())
        let order = RequestBody.text("order")
        #expect(try await load(client, body: order, watchedBy: watcher) == Array("secure".utf8))
        #expect(client.urls == Self.urls("a", "b", "a"))
        #expect(watcher.count.withLock { $0 } == 1)
    }

    @Test func aServerThatFailsOtherwiseEndsTheLoad() async throws {
        let (client, watcher) = (stub(failingWith: [.tlsFailed, .cannotConnect]), Watcher())
        await #expect(throws: LoadError(.cannotConnect, "")) { _ = try await load(client, watchedBy: watcher) }
        #expect(client.urls == Self.urls("a", "b"))
        #expect(watcher.count.withLock { $0 } == 0)
    }

    /// A server has done what it was asked for, perhaps: nothing is asked again.
    @Test func aServerThatHasAnsweredIsNotAskedAgain() async throws {
        let client = StubClient { request throws(LoadError) in
            guard !"\(request.url)".contains("elsewhere") else {
                throw LoadError(.cannotConnect, at: .connect, "No connection.")
            }
            return .redirect(302, to: "http://elsewhere.example/")
        }
        let watcher = Watcher()
        await #expect(throws: LoadError(.cannotConnect, "")) { _ = try await load(client, watchedBy: watcher) }
        #expect(client.urls.filter { $0 == Self.urls("a")[0] }.count == 1)
        #expect(watcher.count.withLock { $0 } == 0)
    }

    @Test func aSingleServerIsWaitedFor() async throws {
        let (client, watcher) = (stub(failingWith: [.cannotConnect]), Watcher())
        #expect(try await load(client, of: ["a"], watchedBy: watcher) == Array("secure".utf8))
        #expect(client.urls == Self.urls("a", "a"))
        #expect(watcher.count.withLock { $0 } == 1)
    }
}
