package import SallyportCore

extension Transport {
    /// Applies a change of access to exchanges, tunnels and connections: ends all of them, or those that the new rules
    /// refuse. Idle connections that the rules refuse are closed.
    package func follow(_ change: AccessChange, of gate: any AccessGate) {
        if let denied = change.ending {
            endExchanges(with: LoadError(denied)) { _ in true }
            closeConnections { _ in true }
        }
        // After an end of access too: a request that asked the gate before the end, and reaches the loop after it, is
        // judged before anything of it is sent.
        if change.ending != nil || change.changesRules { judge(by: { gate.judge($0) }) }
    }
}
