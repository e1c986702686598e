internal import CCurl
internal import Glibc

/// Makes the sockets of connections, so that they are closed on `exec`, and the exchange knows how far it has come.
func openSocket(
    _ context: UnsafeMutableRawPointer?, _: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let context = unsafe context, let address = unsafe address?.pointee else { return CURL_SOCKET_BAD }
    let handle = unsafe Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
    let descriptor = socket(address.family, address.socktype | Int32(SOCK_CLOEXEC.rawValue), address.protocol)
    guard descriptor >= 0 else { return CURL_SOCKET_BAD }
    guard handle.client?.willConnect(descriptor) != false else {
        close(descriptor)
        return CURL_SOCKET_BAD
    }
    return descriptor
}

func closeSocket(_ context: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t) -> Int32 {
    if let context = unsafe context {
        unsafe Unmanaged<Pool>.fromOpaque(context).takeUnretainedValue().willClose(descriptor)
    }
    return close(descriptor)
}

/// Ends a connection in both directions and reads away what lies in it. What comes later, the kernel answers with a
/// reset.
func exhaustSocket(_ descriptor: Int32) {
    shutdown(descriptor, Int32(SHUT_RDWR))
    var octets = [UInt8](repeating: 0, count: 16 << 10)
    // More than the kernel keeps for a socket.
    for _ in 0..<1024 {
        let count = unsafe octets.withUnsafeMutableBytes { buffer in
            unsafe recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
        }
        guard count > 0 else { return }
    }
}
