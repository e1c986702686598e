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

    /// What came while the task was suspended is not passed on when it is resumed.
    @Test(arguments: [false, true]) func nothingThatWasHeldIsDeliveredAfterAWithdrawal(inParts: Bool) async throws {
        let server = try RecordingServer(body: "held")
        let collector = Collector()
        let (session, client) = (IdleProtocol.session(delegate: inParts ? collector : nil), LoaderClient())
        defer { session.invalidateAndCancel() }
        let request = try URLRequest(url: server.url())
        let task = session.dataTask(with: request)
        let native = try NativeTask(task)
        let binding = Bindings.binding(of: tenant.loading.makeSession(), upTo: .mebibytes(1))
        // FoundationNetworking registers the task on its queue.
        let order = try native.queue.sync { try LoadOrder(request, native, binding) }
        #expect((order.delegateQueue != nil) == inParts)
        let loader = IdleProtocol(task: task, cachedResponse: nil, client: client)
        let delivery = TaskDelivery(loader, client, on: native.queue)
        native.queue.sync { delivery.pause() }
        let load = BridgedLoad(order, delivery)
        #expect(try await eventually { native.queue.sync { delivery.isHolding } })
        tenant.gate.withdraw()
        native.queue.sync { load.resume() }
        #expect(try await eventually { !client.seen.errors.isEmpty })
        #expect(client.seen.errors.first?.loadError?.code == .withdrawn)
        #expect(client.seen.heads == 0 && client.seen.bytes == 0 && client.seen.ends == 0)
    }

    /// Of a body that is passed on whole, FoundationNetworking tells the app with the end.
    @Test func aWholeBodyIsNotToldAfterAWithdrawal() async throws {
        let (session, client) = (IdleProtocol.session(), LoaderClient())
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: try #require(URL(string: "http://127.0.0.1:9/")))
        let queue = try NativeTask(task).queue
        let loader = IdleProtocol(task: task, cachedResponse: nil, client: client)
        let delivery = TaskDelivery(loader, client, on: queue)
        let permitted = PermittedDelivery(delivery, of: tenant.loading.makeSession())
        #expect(try await permitted.deliver(.body(Data("whole".utf8))))
        queue.sync { delivery.pause() }
        let end = Task { try await permitted.deliver(.end) }
        #expect(try await eventually { queue.sync { delivery.isHolding } })
        tenant.gate.withdraw()
        queue.sync { delivery.resume() }
        await #expect(throws: LoadError.self) { try await end.value }
        #expect(client.seen.bytes == 5 && client.seen.ends == 0)
    }

    /// A part waits for its turn on the task's work queue, and access may end meanwhile.
    @Test func aPartWhoseTurnComesAfterAWithdrawalIsNotDelivered() async throws {
        let (session, client) = (IdleProtocol.session(), LoaderClient())
        defer { session.invalidateAndCancel() }
        let task = session.dataTask(with: try #require(URL(string: "http://127.0.0.1:9/")))
        let queue = try NativeTask(task).queue
        let delivery = TaskDelivery(IdleProtocol(task: task, cachedResponse: nil, client: client), client, on: queue)
        let period = tenant.loading.makeSession().accessPeriod
        queue.async { [gate = tenant.gate] in gate.withdraw() }
        guard case .withdrawn(let error) = await delivery.deliver(.body(Data("late".utf8)), in: period) else {
            Issue.record("A part was delivered after a withdrawal.")
            return
        }
        #expect(error.code == .withdrawn)
        #expect(client.seen.bytes == 0)
    }
}
