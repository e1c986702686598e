internal import Foundation
internal import SallyportCore
internal import SallyportLoading
internal import SallyportURLLoading

/// Delivers the parts of one load, but nothing after a withdrawal: not what was held while the task was suspended, nor a
/// whole body that FoundationNetworking would pass on with the end.
struct PermittedDelivery: Sendable {
    private let delivery: TaskDelivery
    /// The one in which the load begins.
    private let period: AccessPeriod

    init(_ delivery: TaskDelivery, of session: SecureSession) {
        self.delivery = delivery
        period = session.accessPeriod
    }

    /// - Returns: false if the task has ended and nothing was delivered.
    /// - Throws: `withdrawn`; then nothing was delivered either.
    func deliver(_ event: TaskDelivery.Event) async throws(LoadError) -> Bool {
        while true {
            switch await delivery.deliver(event, in: period) {
            case .delivered: return true
            case .over: return false
            case .held: continue
            case .withdrawn(let error): throw error
            }
        }
    }

    /// Why the load failed may be told at any time.
    func fail(_ error: URLError) async {
        while case .held = await delivery.deliver(.failure(error), in: nil) {}
    }
}
