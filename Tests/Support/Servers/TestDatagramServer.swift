internal import Glibc
internal import SallyportCore

/// A server on a free UDP port of 127.0.0.1 that answers each datagram by a function; stopped with this value.
package final class TestDatagramServer: Sendable {
    package let port: UInt16
    private let descriptor: Int32

    /// - Parameter answer: nil for silence.
    package init(_ answer: @escaping @Sendable ([UInt8]) -> [UInt8]?) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        self.descriptor = descriptor
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address -> Int32 in
                guard bind(descriptor, address, length) == 0 else { return -1 }
                return getsockname(descriptor, address, &length)
            }
        }
        guard result == 0 else { throw TestServerError.cannotListen }
        port = UInt16(bigEndian: address.sin_port)
        startThread {
            while Self.serve(descriptor, answer) {}
            // Closed by the thread that uses it: the number may belong to another test at once.
            close(descriptor)
        }
    }

    deinit { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// - Returns: false at the end.
    private static func serve(_ descriptor: Int32, _ answer: ([UInt8]) -> [UInt8]?) -> Bool {
        var (sender, length) = (sockaddr_in(), socklen_t(MemoryLayout<sockaddr_in>.size))
        return withUnsafeMutablePointer(to: &sender) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { sender in
                let query = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
                    count = max(0, recvfrom(descriptor, buffer.baseAddress, buffer.count, 0, sender, &length))
                }
                guard !query.isEmpty else { return false }
                if let reply = answer(query) { sendto(descriptor, reply, reply.count, 0, sender, length) }
                return true
            }
        }
    }
}
