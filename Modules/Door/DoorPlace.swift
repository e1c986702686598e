public import SallyportCore

/// Where a door listens. Never outside the machine.
public enum DoorPlace: Sendable, Hashable, CustomStringConvertible {
    /// A loopback address, and a port; 0 for any free one.
    case tcp(IPAddress, port: UInt16)
    /// A Unix socket, which is made there and removed at the end, unless another file has come into its place. Mode
    /// 0600, or 0666 if other users are allowed, whatever the umask is: what the kernel says of the process that
    /// connects decides then.
    case unixSocket(path: String)
    /// A socket that listens already, as systemd passes it (sd_listen_fds(3)). It becomes the door's.
    case descriptor(Int32)

    /// 127.0.0.1, on a port of one's own or on any free one.
    public static func loopback(port: UInt16 = 0) -> DoorPlace { .tcp(.v4(0x7f00_0001), port: port) }

    /// The port of a loopback address; nil for the other kinds.
    public var port: Int? { if case .tcp(_, let port) = self { Int(port) } else { nil } }

    /// `127.0.0.1:1080`, `[::1]:1080`, `unix:/run/app/door.sock` or `descriptor 3`.
    public var description: String {
        switch self {
        case .tcp(let address, let port): "\(Host.address(address)):\(port)"
        case .unixSocket(let path): "unix:\(path)"
        case .descriptor(let number): "descriptor \(number)"
        }
    }
}
