public import Logging
public import SallyportConnecting
public import SallyportCore
public import SallyportLoading
internal import SallyportTransport
internal import Synchronization

/// The sockets of one instance: byte streams to servers. The administrator's policy decides whether a stream is
/// relayed, direct or refused; one route never replaces another.
///
/// Turning secure communication off (`disable()`) does not affect sockets. A withdrawal of the authorization ends them
/// with its code and refuses new ones.
public final class SocketSystem: InstancePart {
    let connector: Connector
    private let ownsConnector: Bool
    private let isShutDown = Atomic(false)
    private let logger: Logger

    /// Sockets whose access is decided by an `Authorization` or another gate.
    ///
    /// - Parameters:
    ///   - gate: says whether and how the app may connect.
    ///   - decisions: the chains that the app trusts for good, which are taken here too; usually the `Authorization`
    ///     again. If nil, no socket takes them.
    ///   - logger: for how connections are made, at `debug`.
    public convenience init(
        gate: any AccessGate, decisions: (any DecisionStore)? = nil, logger: Logger = Logger(label: "sallyport.socket")
    ) {
        self.init(connector: Connector(gate: gate, decisions: decisions), ownsConnector: true, logger: logger)
    }

    /// Sockets that share a connector, and its gate, with other parts of an instance.
    ///
    /// - Parameters:
    ///   - connector: is shut down by its creator, after the sockets.
    ///   - logger: for how connections are made, at `debug`.
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

    /// Opens a byte stream. Cancelling the task cancels the attempt.
    ///
    /// - Parameters:
    ///   - address: `HOST:PORT`, IPv6 in brackets.
    ///   - isSecure: whether the stream uses TLS from the start; `ByteStream.startTLS(_:)` begins it later.
    ///   - configuration: time limits, trust and pins.
    /// - Throws: `notAuthorized`, `withdrawn` or `refusedByPolicy` before any connection is made; `invalidRequest` for
    ///   an address that is not valid; the error if no connection was made; `cancelled`.
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

    /// Opens a stream for as long as `body` runs, on the caller's actor (`isolation`). If `body` returns, our side is
    /// ended once everything is sent, and the server has ``SocketConfiguration/closeTimeout`` to end its own. If `body`
    /// throws, the stream is reset.
    ///
    /// - Throws: what `body` throws; `LoadError` if no connection was made; `CancellationError` if the task was
    ///   cancelled before there was a connection.
    public func withConnection<Result>(
        to address: String, isSecure: Bool, _ configuration: SocketConfiguration = SocketConfiguration(),
        isolation: isolated (any Actor)? = #isolation, _ body: (ByteStream) async throws -> Result
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
        let target = target.completed(by: connector.gate)
        let request = target.request(from: .now)
        var questions = ConnectionQuestions(principal: .instance, logger: logger)
        questions.recorder = .init(of: request, for: target.configuration.onRecord)
        let stream = try await connector.stream(request, with: target.settings, asking: questions)
        // One that `shutdown()` did not see, since it was not open yet.
        guard !isShutDown.load(ordering: .acquiring) else {
            stream.reset()
            throw Self.invalidated()
        }
        return stream
    }

    static func invalid(_ error: AddressError) -> LoadError {
        LoadError(.invalidRequest, "The address is not valid: \(error.message)", underlying: error)
    }

    private static func invalidated() -> LoadError {
        LoadError(.sessionInvalidated, "The sockets were shut down.")
    }

    /// Ends all connections and refuses new ones. Idempotent.
    public func shutdown() async {
        isShutDown.store(true, ordering: .releasing)
        end(Self.invalidated())
        if ownsConnector { await connector.shutdown() }
    }
}
