public import Logging
package import SallyportConnecting
public import SallyportCore
internal import SallyportTransport
internal import Synchronization

/// The sockets of one instance: streams of bytes to servers, relayed, direct or refused as the administrator's policy says,
/// never the one for the other.
///
/// Switching secure communication off (`disable()`) does not touch them; withdrawal of the authorization ends them with its
/// code, and refuses new ones.
public final class SocketSystem: Sendable {
    private let gate: any AccessGate
    private let connector: Connector
    private let ownsConnector: Bool
    private let isShutDown = Atomic(false)
    private let logger: Logger

    /// The sockets of an app that an `Authorization`, or another gate, decides on.
    public convenience init(gate: any AccessGate, logger: Logger = Logger(label: "sallyport.socket")) {
        self.init(connector: Connector(gate: gate), gate: gate, ownsConnector: true, logger: logger)
    }

    /// Sockets that share a connector with other parts of an instance, which shuts it down.
    package convenience init(connector: Connector, gate: any AccessGate, logger: Logger) {
        self.init(connector: connector, gate: gate, ownsConnector: false, logger: logger)
    }

    private init(connector: Connector, gate: any AccessGate, ownsConnector: Bool, logger: Logger) {
        self.gate = gate
        self.connector = connector
        self.ownsConnector = ownsConnector
        self.logger = logger
    }

    /// Ends all connections with `networkUnavailable`, and those that are being opened; the next are made anew.
    package func resetConnections() { end(LoadError(.connectionLost, "All connections were reset.")) }

    private func end(_ failure: LoadError) { connector.end(failure) { $0 == .sockets } }

    // MARK: Connections

    /// Opens a connection. Cancelling the task gives it up.
    ///
    /// - Parameters:
    ///   - address: `HOST:PORT`, IPv6 in brackets.
    ///   - isSecure: whether TLS is spoken with the server.
    /// - Throws: `notAuthorized`, `withdrawn` or `refusedByPolicy` before anything is connected; `networkUnavailable` and
    ///   `serviceTimeOut` with the cause; `invalidRequest`; `cancelled`.
    public func connect(
        to address: String, isSecure: Bool, _ configuration: SocketConfiguration = SocketConfiguration()
    ) async throws(SocketError) -> SocketConnection {
        try await connect(to: Self.endpoint(address), isSecure: isSecure, configuration)
    }

    /// The same to an endpoint.
    public func connect(
        to endpoint: Endpoint, isSecure: Bool, _ configuration: SocketConfiguration = SocketConfiguration()
    ) async throws(SocketError) -> SocketConnection {
        try await connect(SocketTarget(endpoint: endpoint, isSecure: isSecure, configuration: configuration))
    }

    /// Opens a connection for as long as `body` runs. Where that returns, our side is ended once all is sent, and the server
    /// has ``SocketConfiguration/closeTimeout`` to end its own; where it throws, the connection is reset.
    ///
    /// - Throws: what `body` throws; ``SocketError`` where there is no connection; `CancellationError` where the task was
    ///   cancelled before there was one.
    public func withConnection<Result>(
        to address: String, isSecure: Bool, _ configuration: SocketConfiguration = SocketConfiguration(),
        _ body: (SocketConnection) async throws -> Result
    ) async throws -> Result {
        let connection: SocketConnection
        do throws(SocketError) {
            connection = try await connect(to: address, isSecure: isSecure, configuration)
        } catch {
            if error.code == .cancelled { throw CancellationError() }
            throw error
        }
        do {
            let result = try await body(connection)
            await connection.shutdown()
            return result
        } catch {
            connection.close()
            throw error
        }
    }

    func connect(_ target: SocketTarget) async throws(SocketError) -> SocketConnection {
        do throws(LoadError) {
            guard !isShutDown.load(ordering: .acquiring) else { throw Self.invalidated() }
            let questions = ConnectionQuestions(principal: .instance, logger: logger)
            let (tunnel, decision) = try await connector.tunnel(
                target.request(from: .now), with: target.settings, asking: questions)
            guard let decision else { throw LoadError(.internalFailure, "A socket is opened by a policy.") }
            return SocketConnection(tunnel, decision, target)
        } catch {
            throw SocketError(error)
        }
    }

    private static func invalidated() -> LoadError {
        LoadError(.sessionInvalidated, "The sockets were shut down.")
    }

    // MARK: Documented sockets

    /// A documented socket, in ``SocketState/prepared``. Makes no connection.
    ///
    /// - Parameters:
    ///   - host: a name or an address.
    ///   - port: 1 to 65535.
    ///   - isSecure: whether TLS is spoken with the server.
    /// - Throws: `invalidRequest` for what is no host or no port.
    public func socket(
        host: String, port: Int, isSecure: Bool, _ configuration: SocketConfiguration = SocketConfiguration()
    ) throws(SocketError) -> SecureSocket {
        do throws(AddressError) {
            let endpoint = try Endpoint(host: Host(host), port: UInt16(exactly: port) ?? 0)
            return SecureSocket(
                SocketTarget(endpoint: endpoint, isSecure: isSecure, configuration: configuration), of: self)
        } catch {
            throw .address(error)
        }
    }

    /// - Throws: `notAuthorized`, `withdrawn`.
    func checkAuthorized() throws(SocketError) {
        do throws(LoadError) {
            try gate.requireAuthorized()
        } catch {
            throw SocketError(error)
        }
    }

    private static func endpoint(_ address: String) throws(SocketError) -> Endpoint {
        do throws(AddressError) {
            return try Endpoint(address)
        } catch {
            throw .address(error)
        }
    }

    /// Ends all connections and takes no more. Idempotent.
    public func shutdown() async {
        isShutDown.store(true, ordering: .releasing)
        end(Self.invalidated())
        if ownsConnector { await connector.shutdown() }
    }
}
