internal import NIOCore
internal import SallyportCore

extension SocketAddress {
    init(_ address: IPAddress, port: UInt16) {
        do {
            self = try SocketAddress(packedIPAddress: ByteBuffer(bytes: address.bytes), port: Int(port))
        } catch {
            // Only a length other than 4 or 16 fails, and an `IPAddress` has no other.
            preconditionFailure("An IP address has 4 or 16 bytes.")
        }
    }
}
