package import SallyportCore

/// A peer's alert that ended a handshake (RFC 8446 §6): the underlying error of ``LoadError/Code/tlsFailed``.
package struct TLSAlert: Error, Sendable, Hashable {
    /// The number of the standard.
    package let description: UInt8
}

extension LoadError {
    /// An alert, a close or a reset in the handshake with the server: it may support lower versions of TLS only.
    package var asksForLowerVersions: Bool {
        guard step == .serverTLS else { return false }
        return switch code {
        case .noCommonTLSVersion, .connectionLost: true
        case .tlsFailed: underlying is TLSAlert
        default: false
        }
    }
}
