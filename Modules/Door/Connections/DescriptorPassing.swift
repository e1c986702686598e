internal import CDoor
internal import Glibc

/// Messages with descriptors between processes of this machine, over Unix sockets (unix(7), SCM_RIGHTS). Calls block.
package enum DescriptorPassing {
    package struct Failure: Error {
        /// An `errno`; 0 if the other side has ended the connection.
        package let number: Int32
    }

    /// Sends all bytes, the descriptors with the first of them.
    package static func send(_ bytes: [UInt8], _ descriptors: [Int32] = [], over connection: Int32) throws(Failure) {
        var position = 0
        while position < bytes.count {
            let passed = position == 0 ? descriptors : []
            let sent = unsafe bytes[position...].withUnsafeBytes { part in
                unsafe sallyport_send_descriptors(connection, part.baseAddress, part.count, passed, passed.count)
            }
            guard sent >= 0 else { throw Failure(number: Int32(-sent)) }
            position += sent
        }
    }

    /// Receives so many bytes, and the descriptors that came with them, which are the caller's.
    ///
    /// - Parameter limit: the most descriptors that the caller takes; what comes beyond is closed.
    package static func receive(
        _ count: Int, descriptors limit: Int = 0, over connection: Int32
    ) throws(Failure) -> (bytes: [UInt8], descriptors: [Int32]) {
        var bytes: [UInt8] = []
        var descriptors: [Int32] = []
        while bytes.count < count {
            var room = [UInt8](repeating: 0, count: count - bytes.count)
            var passed = [Int32](repeating: -1, count: 8)
            var found = 0
            let received = unsafe sallyport_receive_descriptors(connection, &room, room.count, &passed, &found)
            let taken = passed.prefix(min(found, limit - descriptors.count))
            descriptors += taken
            for descriptor in passed[taken.count..<found] { close(descriptor) }
            guard received > 0 else {
                for descriptor in descriptors { close(descriptor) }
                throw Failure(number: Int32(-received))
            }
            bytes += room.prefix(received)
        }
        return (bytes, descriptors)
    }

    /// Connects to a Unix socket; nil if nothing listens there.
    package static func connect(to path: String) -> Int32? {
        guard let address = SocketAddress(path: path) else { return nil }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        guard unsafe address.with({ unsafe Glibc.connect(descriptor, $0, $1) }) == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// The user at the other end of a Unix socket.
    package static func user(at connection: Int32) -> UInt32? {
        var user: UInt32 = 0
        return unsafe sallyport_unix_peer(connection, &user) == 0 ? user : nil
    }

    /// A socket that takes connections at a path; it blocks. The file is for the process's user only, and the caller
    /// removes it.
    package static func listen(at path: String) throws(DoorError) -> (descriptor: Int32, file: SocketFile?) {
        let listening = try ListeningSocket(.unixSocket(path: path), isForAll: false)
        _ = fcntl(listening.descriptor, F_SETFL, 0)
        return (listening.descriptor, listening.file)
    }
}
