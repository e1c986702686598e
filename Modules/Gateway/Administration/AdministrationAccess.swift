internal import Glibc
internal import SallyportBase

/// Whether this process may use the administration socket of a data directory. The kernel decides; this finds out what
/// it has decided, and says why.
enum AdministrationAccess {
    /// Whether there is a socket. There may be one without a gateway that listens on it.
    ///
    /// - Throws: `forbidden` if the directory is closed to this process's user.
    static func hasSocket(in data: String) throws(GatewayError) -> Bool {
        let socket = AdministrationSocket.plainPath(of: data)
        guard FileStatus(of: socket, followsLinks: false) == nil else { return true }
        guard errno == EACCES else { return false }
        throw refusal(in: data)
    }

    /// - Throws: `forbidden` if the gateway, which answered nothing, is another user's.
    static func checkOwner(in data: String) throws(GatewayError) {
        let socket = FileStatus(of: AdministrationSocket.plainPath(of: data), followsLinks: false)
        guard geteuid() != 0, let socket, socket.owner != geteuid() else { return }
        throw refusal(in: data)
    }

    /// Names the socket, its owner, and this process's user.
    static func refusal(in data: String) -> GatewayError {
        let socket = AdministrationSocket.plainPath(of: data)
        let me = userName(geteuid())
        guard let owner = owner(of: [socket, AdministrationSocket.directory(of: data), data]) else {
            return GatewayError(
                .forbidden,
                "The directory of \(data) is closed to \(me): run this as the gateway's user or as root.")
        }
        let (allowed, advice) =
            owner == 0
            ? ("root only", "root") : ("its user \(userName(owner)) and to root only", "one of them")
        return GatewayError(
            .forbidden,
            "The gateway's socket \(socket) is open to \(allowed), and this is \(me): run this as \(advice).")
    }

    /// The owner of the first path that this process can look at.
    private static func owner(of paths: [String]) -> uid_t? {
        paths.lazy.compactMap { FileStatus(of: $0, followsLinks: false)?.owner }.first
    }

    /// `name (number)`; the number alone if it has no name.
    private static func userName(_ user: uid_t) -> String {
        accountName(user).map { "\($0) (\(user))" } ?? "\(user)"
    }

    /// The name of a user's account. Asks the system's directory of users, which may block.
    static func accountName(_ user: uid_t) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16 << 10) { texts -> String? in
            var entry = passwd()
            var found: UnsafeMutablePointer<passwd>?
            guard let start = texts.baseAddress, getpwuid_r(user, &entry, start, texts.count, &found) == 0, found != nil
            else { return nil }
            return String(cString: entry.pw_name)
        }
    }
}
