/// An alert of the peer's that ended a handshake (RFC 8446 §6): the underlying error of ``LoadError/Code/tlsFailed``.
package struct TLSAlert: Error, Sendable, Hashable {
    /// The number of the standard.
    package let description: UInt8
}
