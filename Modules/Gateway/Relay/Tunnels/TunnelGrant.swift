internal import SallyportCore

/// The permission for a tunnel: enough to ask the policy again.
struct TunnelGrant {
    let client: any RelayClient
    let target: Endpoint
    let instance: String
    /// The address that was dialled.
    let address: IPAddress

    /// Whether an open tunnel may stay.
    func holds(check: AddressCheck) -> Bool {
        let verdict = client.reconsider(target)
        guard case .allowed(_, let required, let mayBeLocal, let rules) = verdict else { return false }
        guard required == nil || required == address else { return false }
        guard rules.denial(of: address, port: target.port, for: target) == nil else { return false }
        return mayBeLocal || check.permits(address, port: target.port)
    }
}
