internal import Logging
internal import SallyportConnecting
internal import SallyportCore
internal import SallyportLoading
internal import SallyportTransport

/// The streams of bytes of one session and principal, by the policy and with the settings of its loads.
struct SessionTunnels: RoutedTunnels {
    let connector: Connector
    let settings: ConnectionSettings
    /// How long the app may take to answer questions about a server's certificate.
    let answerTimeout: Duration
    /// Told the record of each stream when it is over.
    let onRecord: (@Sendable (LoadRecord) -> Void)?
    let logger: Logger
    var principal: Principal?

    func of(_ principal: Principal) -> SessionTunnels {
        var tunnels = self
        tunnels.principal = principal
        return tunnels
    }

    func open(_ request: RoutedTunnelRequest) async throws(LoadError) -> ByteStream {
        try await open(request, asking: nil)
    }

    /// - Parameter responder: is asked about the server's certificate; if nil, verification alone decides.
    func open(
        _ request: RoutedTunnelRequest, asking responder: (any ChallengeResponder)?
    ) async throws(LoadError) -> ByteStream {
        var opening = TunnelRequest(to: request.endpoint, isSecure: request.isSecure)
        opening.connectTimeout = request.connectTimeout ?? settings.connectTimeout
        (opening.idleTimeout, opening.countsPauses) = (request.idleTimeout, false)
        opening.deadline = request.deadline
        var questions = ConnectionQuestions(
            by: responder, principal: principal ?? settings.principal, until: .now + answerTimeout, logger: logger)
        questions.recorder = .init(of: opening, for: onRecord)
        return try await connector.stream(opening, with: settings, asking: questions)
    }
}
