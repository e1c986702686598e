#if PostgreSQL
internal import Glibc
internal import NIOPosix
internal import SallyportGateway

/// Looks up a host's addresses on a thread that may block, which an event loop may not.
enum HostLookup {
    /// One empty text for a Unix socket, whose path needs no address.
    static func addresses(of host: PostgresOptions.Host) async throws(GatewayError) -> [String] {
        if !host.address.isEmpty { return [host.address] }
        if host.name.isEmpty || host.isUnixSocket { return [""] }
        let found: [String]
        do { found = try await NIOThreadPool.singleton.runIfActive { lookedUp(host.name) } } catch {
            throw GatewayError(error)
        }
        guard !found.isEmpty else {
            throw GatewayError(.unreachable, "The name \(host.name) of the database has no address.")
        }
        return found
    }

    private static func lookedUp(_ name: String) -> [String] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(name, nil, &hints, &list) == 0 else { return [] }
        defer { unsafe freeaddrinfo(list) }
        var found: [String] = []
        var entry = unsafe list
        while let present = unsafe entry {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let result = unsafe getnameinfo(
                present.pointee.ai_addr, present.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0,
                Int32(NI_NUMERICHOST))
            if result == 0 {
                found.append(String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
            }
            unsafe entry = present.pointee.ai_next
        }
        return found
    }
}
#endif
