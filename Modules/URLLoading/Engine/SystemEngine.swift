internal import Logging
internal import SallyportConnecting
internal import SallyportCore
internal import SallyportTransport

/// What system sessions share: connections of their own, straight from this machine.
final class SystemEngine: Sendable {
    /// One for the process. It is never shut down, as the system session is always there.
    static let process = SystemEngine(client: Transport())

    let connector: Connector
    let handlerLoads = HandlerLoads()
    let waitingLoads = WaitingLoads()

    init(client: any ExchangeClient) { connector = Connector(gate: nil, client: client) }
}
