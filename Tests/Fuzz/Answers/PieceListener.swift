import CCurl
import Glibc

/// Listens for connections within this process, by sockets that keep the borders of what is sent at once.
struct PieceListener {
    let kind = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    private let descriptor: Int32
    private var address = sockaddr_un()
    private var length = socklen_t(MemoryLayout<sa_family_t>.size)

    init() {
        descriptor = socket(AF_UNIX, kind, 0)
        address.sun_family = sa_family_t(AF_UNIX)
        // Without a name in it, the kernel finds one that is free.
        let isBound = withGeneric(&address) { bind(descriptor, $0, length) } == 0
        length = socklen_t(MemoryLayout<sockaddr_un>.size)
        guard isBound, withGeneric(&address, { getsockname(descriptor, $0, &length) }) == 0, listen(descriptor, 1) == 0
        else { fatalError("Nothing can be listened on.") }
    }

    func accept() -> Int32 { Glibc.accept(descriptor, nil, nil) }

    /// Leads libcurl here instead of to the address that it knows.
    func write(to place: UnsafeMutablePointer<curl_sockaddr>) {
        place.pointee.family = AF_UNIX
        place.pointee.socktype = Int32(SOCK_SEQPACKET.rawValue)
        place.pointee.protocol = 0
        place.pointee.addrlen = length
        // libcurl has room there for an address of any kind.
        let start = UnsafeMutableRawPointer(place) + (MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 0)
        withUnsafeBytes(of: address) { bytes in
            UnsafeMutableRawBufferPointer(start: start, count: Int(length)).copyBytes(from: bytes.prefix(Int(length)))
        }
    }
}

private func withGeneric<Result>(
    _ address: inout sockaddr_un, _ body: (UnsafeMutablePointer<sockaddr>) -> Result
) -> Result {
    withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
    }
}
