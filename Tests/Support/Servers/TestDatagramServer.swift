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
        port = try LoopbackAddress.bind(descriptor)
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
