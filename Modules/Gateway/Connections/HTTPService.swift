internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import NIOCore

/// An HTTP listener of the gateway, and the port that it listens on.
struct HTTPService: Sendable {
    private let application: any ApplicationProtocol
    private let address: String
    private let ports: AsyncStream<UInt16>
    private let continuation: AsyncStream<UInt16>.Continuation

    /// - Parameter security: nil for a listener without TLS.
    init(
        _ responder: some HTTPResponder<ControlContext>, _ security: HTTPListener.Security?,
        _ connections: Connections, as listener: GatewayListener, host: String, port: Int, logger: Logger
    ) {
        let (ports, continuation) = AsyncStream.makeStream(of: UInt16.self, bufferingPolicy: .bufferingOldest(1))
        (self.ports, self.continuation) = (ports, continuation)
        address = "\(host) port \(port)"
        application = Application(
            responder: responder, server: HTTPListener.builder(security, connections, as: listener),
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: port), serverName: nil, backlog: Int(ListenerLimits.backlog)),
            onServerRunning: { continuation.yield(UInt16($0.localAddress?.port ?? 0)) }, logger: logger)
    }

    /// Serves until the task is cancelled, or until its service group shuts down.
    func run() async throws {
        defer { continuation.finish() }
        do { try await application.run() } catch let error where BindFailure.isKnown(error) {
            throw GatewayError(
                .cannotBind, "The gateway cannot listen on \(address): \(BindFailure.reason(error)).", underlying: error
            )
        }
    }

    /// Waits for the port on which it listens; nil if it ended before it listened. Only one task may call this.
    func port() async -> UInt16? {
        for await port in ports { return port }
        return nil
    }
}
