internal import SallyportCore

/// What a check found: the documented numbers 0 to 3 (`GDDiagnostic`), and ours for what they do not tell apart.
public enum DiagnosticCode: Int, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// It was reached.
    case noError = 0
    /// The machine has no network.
    case noNetwork = 1
    /// The network changed while the check ran; try again.
    case networkChange = 2
    /// It did not answer within the time.
    case timedOut = 3
    /// Nobody takes connections there, its name is not known, or the connection broke.
    case notReachable = 4
    /// TLS did not succeed: a certificate, a version, the handshake itself.
    case notTrusted = 5
    /// The administrator's policy, or the relay, does not lead there.
    case refused = 6
    /// The app is not authorized, or withdrawn.
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

    /// What came of a try. One that is given up at its time may end in any failure to connect.
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
