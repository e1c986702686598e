internal import Foundation
internal import FoundationNetworking
internal import HTTPTypes
internal import SallyportCore
internal import SallyportLoading
internal import SallyportURLLoading

/// One load for a native task.
///
/// Runs in its own task, since FoundationNetworking's call must return. The task ends with the load and is cancelled
/// with the native task; Docs/Concurrency.md lists it.
struct BridgedLoad {
    private let delivery: TaskDelivery
    private let work: Task<Void, Never>

    init(_ order: LoadOrder, _ delivery: TaskDelivery) {
        self.delivery = delivery
        work = Task { @concurrent in await Self.run(order, delivery) }
    }

    /// Stops reading the answer, which slows the server down.
    func pause() { delivery.pause() }

    func resume() { delivery.resume() }

    func stop() {
        delivery.close()
        work.cancel()
    }

    private static func run(_ order: LoadOrder, _ delivery: TaskDelivery) async {
        let permitted = PermittedDelivery(delivery, of: order.binding.session)
        do throws(LoadError) {
            try await load(order, permitted)
            _ = try await permitted.deliver(.end)
        } catch {
            await permitted.fail(URLError(error, loading: order.url))
        }
    }

    private static func load(_ order: LoadOrder, _ delivery: PermittedDelivery) async throws(LoadError) {
        guard let queue = order.delegateQueue else { return try await loadWhole(order, delivery) }
        let response = try await order.binding.session.bytes(for: order.request)
        let head = try NativeResponse.head(response)
        guard try await delivery.deliver(.head(head)) else { return response.body.discard() }
        while let chunk = try await response.body.next() {
            guard try await delivery.deliver(.body(Data(chunk))) else { return response.body.discard() }
            await turn(of: queue)
        }
    }

    private static func loadWhole(_ order: LoadOrder, _ delivery: PermittedDelivery) async throws(LoadError) {
        let limit = order.binding.limit
        let response = try await order.binding.session.answer(to: order.request, collectingUpTo: limit)
        let head = try NativeResponse.head(response)
        let body = try await response.body.collect(upTo: limit)
        guard try await delivery.deliver(.head(head)), !body.isEmpty else { return }
        _ = try await delivery.deliver(.body(Data(body)))
    }

    /// Returns when the delegate has processed what it was given before, or when the load is cancelled.
    private static func turn(of queue: OperationQueue) async {
        let (turns, turn) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        queue.addOperation { turn.finish() }
        for await _ in turns {}
    }
}
