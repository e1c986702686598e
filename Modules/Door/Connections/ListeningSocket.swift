internal import CDoor
internal import Glibc
internal import SallyportBase
internal import SallyportCore

/// A socket that takes connections, and the file that stands for it if it is a Unix socket.
struct ListeningSocket: Sendable {
    let descriptor: Int32
    /// With the port that the system chose.
    let place: DoorPlace
    let isTCP: Bool
    /// Removed at the end; nil for what others have made.
    let file: SocketFile?

    private static let backlog: Int32 = 1024

    /// - Parameter isForAll: whether other users may connect to a Unix socket; who comes in is decided later.
    init(_ place: DoorPlace, isForAll: Bool) throws(DoorError) {
        switch place {
        case .tcp(let address, let port): self = try Self.tcp(address, port)
        case .unixSocket(let path): self = try Self.unix(path, isForAll: isForAll)
        case .descriptor(let number): self = try Self.passed(number)
        }
    }

    private init(_ descriptor: Int32, _ place: DoorPlace, isTCP: Bool, file: SocketFile? = nil) {
        (self.descriptor, self.place, self.isTCP, self.file) = (descriptor, place, isTCP, file)
    }

    func close() {
        file?.remove()
        Glibc.close(descriptor)
    }

    // MARK: TCP

    private static func tcp(_ address: IPAddress, _ port: UInt16) throws(DoorError) -> ListeningSocket {
        let place = DoorPlace.tcp(address, port: port)
        guard address.scope == .loopback else {
            throw DoorError(
                .invalidPlace,
                "A door listens on loopback only, not on \(place): other machines must not reach it.")
        }
        let descriptor = try open(family(of: address), place)
        var yes: Int32 = 1
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        guard unsafe SocketAddress(address, port).with({ unsafe bind(descriptor, $0, $1) }) == 0 else {
            throw failure(descriptor, place, errno)
        }
        return try listening(descriptor, place)
    }

    private static func family(of address: IPAddress) -> Int32 { if case .v4 = address { AF_INET } else { AF_INET6 } }

    // MARK: Unix sockets

    private static func unix(_ path: String, isForAll: Bool) throws(DoorError) -> ListeningSocket {
        let place = DoorPlace.unixSocket(path: path)
        guard let address = SocketAddress(path: path) else {
            throw DoorError(.invalidPlace, "The path of a Unix socket has 1 to 107 bytes.")
        }
        try removeStale(path, address, place)
        let descriptor = try open(AF_UNIX, place)
        let mode: mode_t = isForAll ? 0o666 : 0o600
        // The file gets the mode of its socket, less the umask. A kernel that gives sockets no mode refuses this.
        _ = fchmod(descriptor, mode)
        guard unsafe address.with({ unsafe bind(descriptor, $0, $1) }) == 0 else {
            throw failure(descriptor, place, errno)
        }
        let file: SocketFile
        do throws(SocketFile.Failure) {
            // Nothing can connect before the socket listens, so that the mode is in force for the first connection.
            file = try SocketFile(boundTo: path, mode: mode)
        } catch {
            throw failure(descriptor, place, error.number)
        }
        guard listen(descriptor, backlog) == 0 else {
            let number = errno
            file.remove()
            throw failure(descriptor, place, number)
        }
        return ListeningSocket(descriptor, place, isTCP: false, file: file)
    }

    /// A socket that a process left behind is removed: nothing takes connections there.
    private static func removeStale(_ path: String, _ address: SocketAddress, _ place: DoorPlace) throws(DoorError) {
        let held: HeldFile
        do throws(SocketFile.Failure) {
            // Held until this returns: another door may remove the file meanwhile, and make one of its own.
            held = try HeldFile(path)
        } catch {
            if error.number == ENOENT { return }
            throw cannotListen(place, error.number)
        }
        defer { withExtendedLifetime(held) {} }
        guard let file = held.socketFile else {
            throw DoorError(.invalidPlace, "\(path) is there already, and is no socket.")
        }
        let probe = try open(AF_UNIX, place)
        defer { Glibc.close(probe) }
        let result = unsafe address.with { unsafe connect(probe, $0, $1) }
        guard result != 0, errno == ECONNREFUSED else {
            throw DoorError(.inUse, "Another process listens on \(place).")
        }
        file.remove()
    }

    // MARK: Passed sockets

    /// A listening socket of loopback or a Unix socket.
    private static func passed(_ descriptor: Int32) throws(DoorError) -> ListeningSocket {
        let place = DoorPlace.descriptor(descriptor)
        var isListening: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard unsafe getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &length) == 0, isListening != 0
        else {
            throw DoorError(.invalidPlace, "The \(place) is no socket that listens.")
        }
        guard let address = SocketAddress(of: descriptor) else {
            throw DoorError(.invalidPlace, "The \(place) is neither of TCP nor a Unix socket.")
        }
        let flags = fcntl(descriptor, F_GETFL)
        _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        guard let (host, port) = address.internet else { return ListeningSocket(descriptor, place, isTCP: false) }
        guard host.scope == .loopback else {
            throw DoorError(.invalidPlace, "The \(place) listens on \(host), which is not a loopback address.")
        }
        return ListeningSocket(descriptor, .tcp(host, port: port), isTCP: true)
    }

    // MARK: Steps

    private static func open(_ family: Int32, _ place: DoorPlace) throws(DoorError) -> Int32 {
        let descriptor = sallyport_stream_socket(family)
        guard descriptor >= 0 else { throw cannotListen(place, errno) }
        return descriptor
    }

    private static func listening(_ descriptor: Int32, _ place: DoorPlace) throws(DoorError) -> ListeningSocket {
        guard listen(descriptor, backlog) == 0 else { throw failure(descriptor, place, errno) }
        guard let (host, port) = SocketAddress(of: descriptor)?.internet else {
            throw failure(descriptor, place, errno)
        }
        return ListeningSocket(descriptor, .tcp(host, port: port), isTCP: true)
    }

    private static func failure(_ descriptor: Int32, _ place: DoorPlace, _ number: Int32) -> DoorError {
        Glibc.close(descriptor)
        if number == EADDRINUSE { return DoorError(.inUse, "Another process listens on \(place).") }
        return cannotListen(place, number)
    }

    private static func cannotListen(_ place: DoorPlace, _ number: Int32) -> DoorError {
        DoorError(.cannotListen, "The door cannot listen on \(place): \(unsafe String(cString: strerror(number))).")
    }
}
