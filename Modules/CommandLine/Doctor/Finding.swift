/// What one check found, in words.
struct Finding: Sendable, Hashable {
    /// In the order in which they are made.
    enum Check: String, Sendable, Hashable, CaseIterable {
        /// The store opens, and holds an activation.
        case store, activation
        /// Of the instance.
        case certificate
        /// What the store holds of it.
        case configuration, lease
        /// Of the gateway: that its name is known, that its control port takes connections, that it is the pinned one.
        case name, port, authority
        /// Of this machine.
        case clock
        /// That the gateway takes the instance's certificate, and what it says of the instance now.
        case identity, status
        /// That names inside are answered for.
        case names
        /// Each relay: that it is reached, is the right one, and takes the certificate.
        case relay
        /// Each server that was asked about.
        case server
    }

    enum Outcome: String, Sendable, Hashable {
        case ok
        /// All works, but not for long, or not as well as it could.
        case warning
        case failed
        /// Something before it failed, or there is nothing to check.
        case skipped
    }

    /// What stands in the way, as exit statuses tell it apart.
    enum Trouble: Sendable, Hashable {
        case usage, unreachable, store, protocolError, notAuthorized
    }

    let check: Check
    let outcome: Outcome
    /// What is so.
    let message: String
    /// What to do; nil where nothing is to be done.
    let advice: String?
    /// Nil where the check did not fail.
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

    static func skipped(_ check: Check, _ message: String) -> Finding {
        Finding(check: check, outcome: .skipped, message: message, advice: nil, trouble: nil)
    }
}
