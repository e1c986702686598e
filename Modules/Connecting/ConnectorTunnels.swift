package import Logging
package import SallyportCore
package import SallyportLoading
internal import SallyportTransport

/// Streams of bytes by the policy and with the same settings, in the name of one principal: those of a session, and those
/// of the connector's own.
package struct ConnectorTunnels: RoutedTunnels {
    let connector: Connector
    let settings: ConnectionSettings
    /// How long the app may think about a server's certificate.
    let answerTimeout: Duration
    let logger: Logger
    private var principal: Principal?

    /// - Parameter answerTimeout: has no effect without a responder.
    package init(
        connector: Connector, settings: ConnectionSettings, answerTimeout: Duration = .zero,
        logger: Logger = Logger(label: "sallyport.connecting")
    ) {
        self.connector = connector
        self.settings = settings
        self.answerTimeout = answerTimeout
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

    /// - Parameter responder: asked about the server's certificate; nil if verification alone decides.
    package func open(
        _ request: RoutedTunnelRequest, asking responder: (any ChallengeResponder)?
    ) async throws(LoadError) -> ByteStream {
        var opening = TunnelRequest(to: request.endpoint, isSecure: request.isSecure)
        opening.connectTimeout = request.connectTimeout ?? settings.connectTimeout
        (opening.idleTimeout, opening.countsPauses) = (request.idleTimeout, false)
        opening.deadline = request.deadline
        let questions = ConnectionQuestions(
            by: responder, principal: principal ?? settings.principal, until: .now + answerTimeout, logger: logger)
        return try await connector.stream(opening, with: settings, asking: questions)
    }
}
