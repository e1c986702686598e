import SallyportCore

/// The result of one check, in words.
struct Finding: Sendable, Hashable {
    /// In the order in which they run.
    enum Check: String, Sendable, Hashable, CaseIterable {
        /// The store can be opened, and contains an activation.
        case store, activation
        /// The instance's certificate.
        case certificate
        /// The stored configuration and its lease.
        case configuration, lease
        /// The gateway: its name is known, its control port accepts connections, and its authority is the pinned one.
        case name, port, authority
        /// This machine's clock.
        case clock
        /// The gateway accepts the instance's certificate, and the instance's present status.
        case identity, status
        /// Names in the enterprise's DNS are resolved.
        case names
        /// Each relay: it is reached, it is the right one, and it accepts the certificate.
        case relay
        /// Each requested server.
        case server
    }

    enum Outcome: String, Sendable, Hashable {
        case ok
        /// Everything works, but not for long, or not as well as it could.
        case warning
        case failed
        /// An earlier check failed, or there is nothing to check.
        case skipped
    }

    /// The kind of failure, as the exit status distinguishes it.
    enum Trouble: Sendable, Hashable {
        case usage, unreachable, store, protocolError, notAuthorized
    }

    let check: Check
    let outcome: Outcome
    /// The finding.
    let message: String
    /// The recommended action; nil if there is none.
    let advice: String?
    /// Nil unless the check failed.
    let trouble: Trouble?

    static func ok(_ check: Check, _ message: String) -> Finding {
        Finding(check: check, outcome: .ok, message: message, advice: nil, trouble: nil)
    }

    static func warning(_ check: Check, _ message: String, _ advice: String) -> Finding {
        Finding(check: check, outcome: .warning, message: message, advice: advice, trouble: nil)
    }

    static func failed(_ check: Check, _ trouble: Trouble, _ message: String, _ advice: String) -> Finding {
        Finding(check: check, outcome: .failed, message: message, advice: advice, trouble: trouble)
    }

    /// A gateway's failure as a warning, because another gateway does what failed; nil for what did not fail.
    func asWarning(of gateway: Endpoint) -> Finding? {
        guard outcome == .failed, let advice else { return nil }
        return .warning(check, message.contains("\(gateway)") ? message : "\(gateway): \(message)", advice)
    }

    static func skipped(_ check: Check, _ message: String) -> Finding {
        Finding(check: check, outcome: .skipped, message: message, advice: nil, trouble: nil)
    }
}
