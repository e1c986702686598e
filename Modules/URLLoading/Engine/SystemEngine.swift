internal import Logging
internal import SallyportCore
internal import SallyportTransport

/// What system sessions share: connections of their own, straight from this machine.
final class SystemEngine: Sendable {
    /// One for the process. It is never shut down, as the system session is always there.
    static let process = SystemEngine(client: Transport())

    let client: any ExchangeClient
    let handlerLoads = HandlerLoads()
    let waitingLoads = WaitingLoads()
    let decisions = ConnectionDecisions()

    init(client: any ExchangeClient) { self.client = client }
}
