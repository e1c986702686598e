package import SallyportCore

extension Transport {
    /// Does to exchanges, tunnels and connections what a change of access asks for: ends all, or those that the new rules
    /// refuse. Connections that idle are closed where the rules refuse them.
    package func follow(_ change: AccessChange, of gate: any AccessGate) {
        if let denied = change.ending {
            endExchanges(with: LoadError(denied)) { _ in true }
            closeConnections { _ in true }
        } else if change.changesRules {
            judge(by: { gate.judge($0) })
        }
    }
}
