public import Logging
public import SallyportConnecting
public import SallyportCore
public import SallyportLoading
internal import SallyportTransport
internal import Synchronization

/// The sockets of one instance: streams of bytes to servers, relayed, direct or refused as the administrator's policy says,
/// never the one for the other.
///
/// Switching secure communication off (`disable()`) does not touch them; withdrawal of the authorization ends them with its
/// code, and refuses new ones.
public final class SocketSystem: InstancePart {
    private let connector: Connector
    private let ownsConnector: Bool
    private let isShutDown = Atomic(false)
    private let logger: Logger

    /// The sockets of an app that an `Authorization`, or another gate, decides on.
    public convenience init(gate: any AccessGate, logger: Logger = Logger(label: "sallyport.socket")) {
        self.init(connector: Connector(gate: gate), ownsConnector: true, logger: logger)
    }

    /// Sockets that share a connector with other parts of an instance, and ask its gate.
    ///
    /// - Parameter connector: shut down by its maker, after the sockets.
    public convenience init(connector: Connector, logger: Logger = Logger(label: "sallyport.socket")) {
        self.init(connector: connector, ownsConnector: false, logger: logger)
    }

    private init(connector: Connector, ownsConnector: Bool, logger: Logger) {
        self.connector = connector
        self.ownsConnector = ownsConnector
        self.logger = logger
    }

    private func end(_ failure: LoadError) { connector.end(failure) { $0 == .sockets } }

    // MARK: Connections

    /// Opens a stream of bytes. Cancelling the task gives it up.
    ///
    /// - Parameters:
    ///   - address: `HOST:PORT`, IPv6 in brackets.
    ///   - isSecure: whether TLS is spoken with the server from the start; ``/SallyportLoading/ByteStream/startTLS(_:)``
    ///     begins it later.
    /// - Throws: `notAuthorized`, `withdrawn` or `refusedByPolicy` before anything is connected; `invalidRequest` for what is
    ///   no address; why no connection came about; `cancelled`.
    public func connect(
        to address: String, isSecure: Bool, _ configuration: SocketConfiguration = SocketConfiguration()
    ) async throws(LoadError) -> ByteStream {
        let endpoint: Endpoint
        do throws(AddressError) {
            endpoint = try Endpoint(address)
        } catch {
            throw Self.invalid(error)
        }
        return try await connect(to: endpoint, isSecure: isSecure, configuration)
    }

    /// The same to an endpoint.
    public func connect(
        to endpoint: Endpoint, isSecure: Bool, _ configuration: SocketConfiguration = SocketConfiguration()
    ) async throws(LoadError) -> ByteStream {
        try await connect(SocketTarget(endpoint: endpoint, isSecure: isSecure, configuration: configuration))
    }

    /// Opens a stream for as long as `body` runs. Where that returns, our side is ended once all is sent, and the server
    /// has ``SocketConfiguration/closeTimeout`` to end its own; where it throws, the stream is reset.
    ///
    /// - Throws: what `body` throws; `LoadError` where there is no connection; `CancellationError` where the task was
    ///   cancelled before there was one.
    public func withConnection<Result>(
        to address: String, isSecure: Bool, _ configuration: SocketConfiguration = SocketConfiguration(),
        _ body: (ByteStream) async throws -> Result
    ) async throws -> Result {
        let stream: ByteStream
        do throws(LoadError) {
            stream = try await connect(to: address, isSecure: isSecure, configuration)
        } catch {
            if error.code == .cancelled { throw CancellationError() }
            throw error
        }
        do {
            let result = try await body(stream)
            await stream.shutdown()
            return result
        } catch {
            stream.reset()
            throw error
        }
    }

    func connect(_ target: SocketTarget) async throws(LoadError) -> ByteStream {
        guard !isShutDown.load(ordering: .acquiring) else { throw Self.invalidated() }
        let questions = ConnectionQuestions(principal: .instance, logger: logger)
        return try await connector.stream(target.request(from: .now), with: target.settings, asking: questions)
    }

    private static func invalid(_ error: AddressError) -> LoadError {
        LoadError(.invalidRequest, "The address is not valid: \(error.message)", underlying: error)
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
    ///   - delegate: told what happens; not kept.
    /// - Throws: `invalidRequest` for what is no host or no port.
    public func socket(
        host: String, port: Int, isSecure: Bool, _ configuration: SocketConfiguration = SocketConfiguration(),
        delegate: (any SocketDelegate)? = nil
    ) throws(SocketError) -> SecureSocket {
        do throws(AddressError) {
            let endpoint = try Endpoint(host: Host(host), port: UInt16(exactly: port) ?? 0)
            return SecureSocket(
                SocketTarget(endpoint: endpoint, isSecure: isSecure, configuration: configuration), of: self,
                delegate: delegate)
        } catch {
            throw SocketError(Self.invalid(error))
        }
    }

    /// - Throws: `notAuthorized`, `withdrawn`.
    func checkAuthorized() throws(SocketError) {
        do throws(LoadError) {
            try connector.gate?.requireAuthorized()
        } catch {
            throw SocketError(error)
        }
    }

    /// Ends all connections and takes no more. Idempotent.
    public func shutdown() async {
        isShutDown.store(true, ordering: .releasing)
        end(Self.invalidated())
        if ownsConnector { await connector.shutdown() }
    }
}
