internal import Glibc
package import NIOCore
internal import NIOPosix
package import SallyportCore

/// The host's resolver: `getaddrinfo`, on threads that may block.
package struct SystemResolver: NameResolver {
    // The process's, each from its first look-up to the process's end, and for nothing else: names of a zone whose
    // servers do not answer may keep all threads of a pool busy for seconds.
    private static let threadsOfRelay = started(16)
    private static let threadsOfQueries = started(8)
    private static let threadsOfDatabases = started(4)

    /// For the queries of instances: with names whose servers do not answer, one instance can keep all of these busy, and
    /// must not hold up the CONNECTs of the others.
    package static let ofQueries = SystemResolver(threads: { SystemResolver.threadsOfQueries })

    /// For the hosts of databases, which relayed names must not hold up, nor they these.
    package static let ofDatabases = SystemResolver(threads: { SystemResolver.threadsOfDatabases })

    /// As many threads as names are looked up at a time. Each look-up asks for them, so that the first one starts them,
    /// and not the start of a gateway, which may never look up a name.
    private let threads: @Sendable () -> NIOThreadPool

    package init() { self.init(threads: { SystemResolver.threadsOfRelay }) }

    init(threads: @escaping @Sendable () -> NIOThreadPool) { self.threads = threads }

    private static func started(_ count: Int) -> NIOThreadPool {
        let pool = NIOThreadPool(numberOfThreads: count)
        pool.start()
        return pool
    }

    /// All addresses of a name, in the order in which they are to be tried.
    ///
    /// - Throws: ``NameResolutionError``; `CancellationError`, if the look-up has not begun when the task is cancelled.
    package func addresses(of name: String) async throws -> [IPAddress] {
        try await threads().runIfActive { try Self.lookUp(name) }
    }

    package func addresses(of name: String, on eventLoop: any EventLoop) -> EventLoopFuture<[IPAddress]> {
        addresses(of: name, on: eventLoop, while: { true })
    }

    package func addresses(
        of name: String, on eventLoop: any EventLoop, while isWanted: @escaping @Sendable () -> Bool
    ) -> EventLoopFuture<[IPAddress]> {
        threads().runIfActive(eventLoop: eventLoop) {
            guard isWanted() else { throw NameResolutionError.timedOut }
            return try Self.lookUp(name)
        }
    }

    private static func lookUp(_ name: String) throws(NameResolutionError) -> [IPAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(name, nil, &hints, &list)
        defer { if let list { freeaddrinfo(list) } }
        switch code {
        case 0: break
        case EAI_NONAME, -5: throw .notFound  // -5 is EAI_NODATA, a macro that Swift does not see.
        case EAI_AGAIN: throw .timedOut
        default: throw .failed
        }
        let addresses = sequence(first: list, next: { $0?.pointee.ai_next }).prefix { $0 != nil }
            .compactMap { $0?.pointee.ai_addr.flatMap(address) }
        guard !addresses.isEmpty else { throw .notFound }
        return addresses
    }

    /// Reads the bytes where `sockaddr`, `sockaddr_in` and `sockaddr_in6` have them (RFC 3493 §3.3): which of Swift's modules
    /// owns the fields depends on what else is imported.
    private static func address(_ pointer: UnsafeMutablePointer<sockaddr>) -> IPAddress? {
        let raw = UnsafeRawPointer(pointer)
        return switch Int32(raw.load(as: sa_family_t.self)) {
        case AF_INET: IPAddress(bytes: Array(UnsafeRawBufferPointer(start: raw + 4, count: 4)))
        case AF_INET6: IPAddress(bytes: Array(UnsafeRawBufferPointer(start: raw + 8, count: 16)))
        default: nil
        }
    }
}
