internal import CDoor
internal import Glibc
internal import SallyportBase

/// Asks the kernel which user is at the other end of a connection.
///
/// Loopback TCP: by NETLINK_SOCK_DIAG (sock_diag(7)), some 4 µs for each question. The answer counts only for a socket that
/// is connected and has an inode. The kernel reports closed sockets, which have none, as those of user 0; and a socket that
/// is about to connect from the port of one that was closed is another program's. A program that has ended its side,
/// perhaps before the door took the connection, still counts. Unix sockets: SO_PEERCRED (unix(7)).
///
/// Users of another user namespace have one number in common in both answers: see ``OverflowUser``.
struct PeerUsers: ~Copyable {
    /// Negative if the kernel gives none.
    private let netlink: Int32
    private var questions: UInt32 = 0
    private let overflow: UInt32?

    /// - Parameter overflow: the number that names no user; nil if each names one.
    init(overflow: UInt32? = OverflowUser.number()) {
        self.overflow = overflow
        netlink = sallyport_socket_owner_open()
    }

    deinit { if netlink >= 0 { close(netlink) } }

    mutating func visitor(at connection: Int32, overTCP isTCP: Bool) -> Visitor {
        isTCP ? tcpVisitor(at: connection) : unixVisitor(at: connection)
    }

    private mutating func tcpVisitor(at connection: Int32) -> Visitor {
        guard netlink >= 0 else { return .unknown }
        questions &+= 1
        var owner = sallyport_socket_owner()
        let result = unsafe sallyport_socket_owner_of_peer(netlink, connection, questions, &owner)
        guard result == 0, owner.is_connected != 0, owner.inode != 0 else { return .unknown }
        return visitor(owner.user)
    }

    /// Whether a connection was reset; at a Unix socket, whether the program at the other end has closed it.
    static func isBroken(_ connection: Int32) -> Bool {
        var place = pollfd(fd: connection, events: 0, revents: 0)
        return unsafe poll(&place, 1, 0) > 0
    }

    /// Whether the program at the other end of a TCP connection has closed it. One that has only ended its side has not:
    /// it still waits for an answer.
    mutating func isClosed(at connection: Int32) -> Bool {
        guard netlink >= 0 else { return false }
        questions &+= 1
        var owner = sallyport_socket_owner()
        let result = unsafe sallyport_socket_owner_of_peer(netlink, connection, questions, &owner)
        // A closed socket belongs to no process, and has no inode; the kernel soon forgets it.
        return result == 0 ? owner.inode == 0 : result == -ENOENT || result == -ENOTCONN
    }

    private func unixVisitor(at connection: Int32) -> Visitor {
        var user: UInt32 = 0
        return unsafe sallyport_unix_peer(connection, &user) == 0 ? visitor(user) : .unknown
    }

    private func visitor(_ user: UInt32) -> Visitor { user == overflow ? .unknown : .user(user) }
}
