internal import SallyportCore

/// The result of a check: the numbers 0 to 3 are those of other platforms, the others distinguish more cases.
public enum DiagnosticCode: Int, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// The server was reached.
    case noError = 0
    /// The machine has no network.
    case noNetwork = 1
    /// The network changed while the check ran; try again.
    case networkChange = 2
    /// There was no answer within the time limit.
    case timedOut = 3
    /// No connection: it was refused, the name is unknown, or the connection broke.
    case notReachable = 4
    /// TLS failed: a certificate, a version, or the handshake itself.
    case notTrusted = 5
    /// The administrator's policy or the relay does not allow it.
    case refused = 6
    /// The app is not authorized, or its authorization is withdrawn.
    case notAuthorized = 7
    /// The task was cancelled.
    case cancelled = 8

    public var description: String { "\(name) (\(rawValue))" }

    private var name: String {
        switch self {
        case .noError: "no error"
        case .noNetwork: "no network"
        case .networkChange: "the network changed"
        case .timedOut: "timed out"
        case .notReachable: "not reachable"
        case .notTrusted: "not trusted"
        case .refused: "refused"
        case .notAuthorized: "not authorized"
        case .cancelled: "cancelled"
        }
    }

    /// The result of an attempt. If it reached the time limit, any connection failure counts as a time-out.
    init(_ failure: LoadError?, after duration: Duration, of limit: Duration) {
        switch failure {
        case nil: self = .noError
        case .some where duration >= limit: self = .timedOut
        case .some(let failure): self.init(failure)
        }
    }

    init(_ failure: LoadError) {
        self =
            switch failure.code {
            case .cancelled: .cancelled
            case .idleTimeout, .resourceTimeout: .timedOut
            case .notAuthorized, .withdrawn: .notAuthorized
            case .refusedByPolicy, .relayRefused, .relayProtocol: .refused
            case .tlsFailed, .serverNotTrusted, .relayNotTrusted, .noCommonTLSVersion, .clientCertificateRefused:
                .notTrusted
            default: .notReachable
            }
    }
}
