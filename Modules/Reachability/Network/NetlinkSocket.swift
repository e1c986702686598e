internal import CNetlink
internal import Glibc

/// A routing socket of the kernel's, closed with this value.
struct NetlinkSocket: ~Copyable {
    let descriptor: Int32
    let port: UInt32
    private var buffer = [UInt8](repeating: 0, count: NetlinkMessage.maximumLength)

    /// Nil if the system allows none, as in some containers.
    static func open() -> NetlinkSocket? {
        let descriptor = sallyport_netlink_open()
        return descriptor < 0 ? nil : NetlinkSocket(descriptor)
    }

    private init(_ descriptor: Int32) {
        self.descriptor = descriptor
        port = sallyport_netlink_port(descriptor)
    }

    deinit { close(descriptor) }

    func ask(_ question: NetlinkMessage.Question, sequence: UInt32) -> Bool {
        let bytes = question.bytes(sequence: sequence)
        return unsafe sallyport_netlink_send(descriptor, bytes, bytes.count) == 0
    }

    enum Received {
        case datagram([UInt8], from: UInt32)
        case nothing
        /// Messages were lost, or one is too long.
        case lost
    }

    mutating func receive() -> Received {
        var sender: UInt32 = 0
        let count = unsafe sallyport_netlink_receive(descriptor, &buffer, buffer.count, &sender)
        if count > buffer.count { return .lost }
        if count >= 0 { return .datagram(Array(buffer[..<count]), from: sender) }
        switch Int32(-count) {
        case EAGAIN, EINTR: return .nothing
        default: return .lost
        }
    }
}
