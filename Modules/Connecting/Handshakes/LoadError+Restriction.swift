internal import SallyportCore

extension LoadError {
    /// The error with the policy's restriction in its message, if client and server had no version of TLS in common.
    func naming(_ restriction: TLSRestriction?) -> LoadError {
        guard let restriction, code == .noCommonTLSVersion, step == .serverTLS else { return self }
        return LoadError(code, at: step, "\(message) \(restriction)", underlying: underlying)
    }
}
