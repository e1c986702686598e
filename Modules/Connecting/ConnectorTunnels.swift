package import Logging
package import SallyportCore
package import SallyportLoading
internal import SallyportTransport

/// Byte streams by the policy and with common settings, in the name of one principal: those of a session, and those of
/// the connector itself.
package struct ConnectorTunnels: RoutedTunnels {
    let connector: Connector
    let settings: ConnectionSettings
    /// How long the app may take to answer questions about a server's certificate.
    let answerTimeout: Duration
    /// Called with the record of each stream when it is over.
    let onRecord: (@Sendable (LoadRecord) -> Void)?
    let logger: Logger
    private var principal: Principal?

    /// - Parameters:
    ///   - answerTimeout: has no effect without a responder.
    ///   - onRecord: called with the record of each stream when it is over.
    package init(
        connector: Connector, settings: ConnectionSettings, answerTimeout: Duration = .zero,
        onRecord: (@Sendable (LoadRecord) -> Void)? = nil, logger: Logger = Logger(label: "sallyport.connecting")
    ) {
        self.connector = connector
        self.settings = settings
        self.answerTimeout = answerTimeout
        self.onRecord = onRecord
        self.logger = logger
    }

    package func of(_ principal: Principal) -> ConnectorTunnels {
        var tunnels = self
        tunnels.principal = principal
        return tunnels
    }

    package func open(_ request: RoutedTunnelRequest) async throws(LoadError) -> ByteStream {
        try await open(request, asking: nil)
    }

    /// - Parameter responder: is asked about the server's certificate; if nil, verification alone decides.
    package func open(
        _ request: RoutedTunnelRequest, asking responder: (any ChallengeResponder)?
    ) async throws(LoadError) -> ByteStream {
        var opening = TunnelRequest(to: request.endpoint, isSecure: request.isSecure)
        opening.connectTimeout = request.connectTimeout ?? settings.connectTimeout
        (opening.idleTimeout, opening.countsPauses) = (request.idleTimeout, false)
        opening.deadline = request.deadline
        var questions = ConnectionQuestions(
            by: responder, principal: principal ?? settings.principal, within: answerTimeout, until: request.deadline,
            logger: logger)
        questions.recorder = .init(of: opening, for: onRecord)
        return try await connector.stream(opening, with: settings, asking: questions)
    }
}
