internal import CCurl
internal import Glibc
internal import SallyportCore

/// Opens the sockets of connections, so that they are closed on `exec` and the exchange knows its progress.
func openSocket(
    _ context: UnsafeMutableRawPointer?, _: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let context = unsafe context, let place = unsafe address else { return CURL_SOCKET_BAD }
    let handle = unsafe Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
    if let peer = unsafe internetPeer(place), handle.client?.mayConnect(to: peer.address, port: peer.port) == false {
        return CURL_SOCKET_BAD
    }
    let address = unsafe place.pointee
    let descriptor = socket(address.family, address.socktype | Int32(SOCK_CLOEXEC.rawValue), address.protocol)
    guard descriptor >= 0 else { return CURL_SOCKET_BAD }
    guard handle.client?.willConnect(descriptor) != false else {
        close(descriptor)
        return CURL_SOCKET_BAD
    }
    return descriptor
}

/// The address and port of a socket's peer; nil if it is not an internet socket.
private func internetPeer(_ place: UnsafeMutablePointer<curl_sockaddr>) -> (address: IPAddress, port: UInt16)? {
    guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return nil }
    // SAFETY: libcurl has room for a `sockaddr_storage` there, of which it has filled in `addrlen` bytes. The port and
    // the address lie at the offsets that RFC 3493 §3.3 gives them.
    let length = unsafe Int(place.pointee.addrlen)
    let bytes = unsafe UnsafeRawBufferPointer(start: UnsafeRawPointer(place) + offset, count: length)
    let range: Range<Int>
    switch unsafe place.pointee.family {
    case AF_INET: range = 4..<8
    case AF_INET6: range = 8..<24
    default: return nil
    }
    guard range.upperBound <= length, let address = unsafe IPAddress(bytes: Array(bytes[range])) else { return nil }
    return (address, unsafe UInt16(bytes[2]) << 8 | UInt16(bytes[3]))
}

func closeSocket(_ context: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t) -> Int32 {
    if let context = unsafe context {
        unsafe Unmanaged<Pool>.fromOpaque(context).takeUnretainedValue().willClose(descriptor)
    }
    return close(descriptor)
}

/// The port of a connection on our side; nil if the descriptor is none of an internet socket.
func localPort(of descriptor: Int32) -> UInt16? {
    var address = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let code = unsafe withUnsafeMutablePointer(to: &address) { storage in
        unsafe storage.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            unsafe getsockname(descriptor, $0, &length)
        }
    }
    guard code == 0, [AF_INET, AF_INET6].contains(Int32(address.ss_family)) else { return nil }
    // Both kinds of addresses have the port at the same place (RFC 3493 §3.3).
    return unsafe withUnsafeBytes(of: &address) { bytes in unsafe UInt16(bytes[2]) << 8 | UInt16(bytes[3]) }
}

/// Whether bytes have come over a connection that were not read yet.
func hasUnreadBytes(_ descriptor: Int32) -> Bool {
    var byte = [UInt8](repeating: 0, count: 1)
    let count = unsafe byte.withUnsafeMutableBytes { buffer in
        unsafe recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
    }
    return count > 0
}

/// Ends a connection in both directions and discards its unread bytes. The kernel answers later bytes with a reset.
func exhaustSocket(_ descriptor: Int32) {
    shutdown(descriptor, Int32(SHUT_RDWR))
    var bytes = [UInt8](repeating: 0, count: 16 << 10)
    // More than the kernel buffers for a socket.
    for _ in 0..<1024 {
        let count = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
        }
        guard count > 0 else { return }
    }
}
