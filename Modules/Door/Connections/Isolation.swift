internal import CDoor
internal import Glibc
internal import SallyportCore

/// What a process in a network namespace of its own needs so that a door outside can take its connections.
package enum Isolation {
    /// A socket that takes connections on 127.0.0.1 of the process's namespace, once its loopback interface is up.
    ///
    /// - Returns: the descriptor, which is closed at exec, and the port.
    package static func listen() throws(DoorError) -> (descriptor: Int32, port: UInt16) {
        let result = sallyport_raise_loopback()
        guard result == 0 else {
            throw DoorError(
                .cannotListen,
                "The loopback interface cannot be brought up: \(unsafe String(cString: strerror(-result))).")
        }
        let socket = try ListeningSocket(.loopback(), isForAll: false)
        guard case .tcp(_, let port) = socket.place else { throw DoorError(.cannotListen, "The socket has no port.") }
        return (socket.descriptor, port)
    }

    /// Has the kernel take the capabilities in the new namespaces away at exec: the program that this process becomes gets
    /// none of them. One that runs as root gets them nevertheless, for its own namespaces alone.
    package static func dropPrivilegesAtExec() { sallyport_clear_ambient_capabilities() }
}
