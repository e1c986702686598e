import Dispatch
import Foundation
import FoundationNetworking
import SallyportBase
import SallyportCore
import SallyportURLLoading
import TestSupport
import Testing

@testable import SallyportFoundationBridge

/// Native tasks that are suspended and resumed while they load.
@Suite(.timeLimit(.minutes(1))) struct SuspensionTests {
    private let tenant = Tenant()

    /// FoundationNetworking sets the state first and calls later: the call to stop comes when the task runs again.
    @Test func aResumptionThatOvertakesASuspensionSendsTheRequestOnce() async throws {
        let mayAnswer = DispatchSemaphore(value: 0)
        let server = try RecordingServer { _ in
            _ = mayAnswer.wait(timeout: .now() + 20)
            return "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        }
        let configuration = tenant.loading.makeSession().foundationConfiguration()
        let bridge = try #require(configuration.protocolClasses?.last as? URLProtocol.Type)
        let (session, client) = (IdleProtocol.session(), LoaderClient())
        defer { session.invalidateAndCancel() }
        var request = try URLRequest(url: server.url())
        request.httpMethod = "POST"
        request.httpBody = Data("once".utf8)
        let task = session.dataTask(with: request)
        task.resume()
        let queue = try NativeTask(task).queue
        let loader = bridge.init(task: task, cachedResponse: nil, client: client)
        queue.sync { loader.startLoading() }
        #expect(try await eventually { server.seen.count == 1 })
        queue.sync {
            loader.stopLoading()
            loader.startLoading()
        }
        for _ in 0..<2 { mayAnswer.signal() }
        #expect(try await eventually { client.seen.ends == 1 })
        #expect(server.seen.count == 1 && client.seen.heads == 1 && client.seen.bytes == 2)
        #expect(client.seen.errors.isEmpty)
        withExtendedLifetime(configuration) {}
    }
}
