internal import Glibc

/// Why the kernel did not answer about a socket, or did not destroy it.
package struct SocketDiagnosisError: Error, Sendable, Hashable, CustomStringConvertible {
    /// An `errno`.
    package let number: Int32

    package init(_ number: Int32) { self.number = number }

    package var description: String { unsafe String(cString: strerror(number)) }

    /// Whether the process may not destroy sockets: it lacks CAP_NET_ADMIN.
    package var isNotPermitted: Bool { number == EPERM || number == EACCES }
    /// Whether the kernel was built without the destroying of sockets (CONFIG_INET_DIAG_DESTROY).
    package var isNotSupported: Bool { number == EOPNOTSUPP || number == ENOSYS || number == EPROTONOSUPPORT }
}
