internal import SallyportLoading

/// Which calls each state allows, and what each event does: a value without clock, lock or I/O.
///
/// A refused call changes nothing. An event of an earlier connection changes nothing and causes no callback.
struct SocketStateMachine: Sendable, Equatable {
    private(set) var state = SocketState.prepared
    /// The connection could not be established: the state no longer changes, and every call is refused.
    private(set) var hasFailed = false
    /// Counts the calls of `connect`, so that events of an earlier connection are recognised.
    private(set) var attempt = 0
    /// The checks that are disabled.
    private(set) var disabled: Set<VerificationCheck> = []

    init(disabled: Set<VerificationCheck> = []) {
        for check in disabled { disable(check) }
    }

    /// - Throws: `finished` after a failed connection, `wrongState` for a call that the state forbids.
    mutating func called(_ call: SocketCall) throws(SocketError) {
        try check(call)
        switch call {
        case .connect:
            state = .connecting
            attempt += 1
        case .disableHostVerification: disable(.host)
        case .disablePeerVerification: disable(.peer)
        case .disconnect: state = .disconnecting
        case .write, .retrying: break
        }
    }

    /// The throwing half of ``called(_:)``.
    func check(_ call: SocketCall) throws(SocketError) {
        if hasFailed, call != .retrying {
            throw SocketError(.finished, "The connection had failed; retrying(disabling:) makes another socket.")
        }
        guard allows(call) else {
            throw SocketError(.wrongState, "A socket that is \(state) does not take \(call).")
        }
    }

    private func allows(_ call: SocketCall) -> Bool {
        switch call {
        case .connect: state == .prepared || state == .disconnected
        case .disableHostVerification, .disablePeerVerification: state == .prepared
        case .write, .disconnect: state == .open
        case .retrying: hasFailed
        }
    }

    private mutating func disable(_ check: VerificationCheck) {
        disabled.insert(check)
        if check == .peer { disabled.insert(.host) }
    }

    /// - Parameter attempt: the connection to which the event belongs.
    /// - Returns: the callback to make; nil if there is none.
    mutating func happened(_ event: SocketEvent, in attempt: Int) -> SocketCallback? {
        guard attempt == self.attempt, !hasFailed else { return nil }
        switch (event, state) {
        case (.opened, .connecting):
            state = .open
            return .onOpen
        case (.failedToConnect, .connecting):
            hasFailed = true
            return .onErr
        case (.received, .open), (.received, .disconnecting): return .onRead
        case (.failed, .open), (.failed, .disconnecting): return .onErr
        case (.closed, .open), (.closed, .disconnecting):
            state = .disconnected
            return .onClose
        default: return nil
        }
    }
}
