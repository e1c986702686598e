import Glibc
import SallyportCore
import TestSupport
import Testing

@testable import SallyportSocketDiagnosis

/// The kernel's own answers, for connections over the loopback.
@Suite(.timeLimit(.minutes(1))) struct SocketDiagnosisTests {
    /// IPv4, IPv6, and IPv4 at a socket for both.
    enum Family: CaseIterable, Sendable { case ipv4, ipv6, mapped }

    @Test(arguments: Family.allCases) func aConnectionIsFoundByItsEnds(_ family: Family) throws {
        let pair = try TCPPair(family)
        var diagnosis = try SocketDiagnosis()
        let found = try #require(try diagnosis.connection(pair.ends))
        #expect(found.ends == pair.ends)
        #expect(try diagnosis.isThere(found))
        #expect(try diagnosis.connections(at: pair.ends.local.port).contains(found))
    }

    @Test func whatIsNotThereIsNotFound() throws {
        let pair = try TCPPair(.ipv4)
        var diagnosis = try SocketDiagnosis()
        let other = SocketEnd(pair.ends.remote.address, port: pair.ends.remote.port ^ 1)
        // A socket listens at the local port, which is no connection.
        #expect(try diagnosis.connection(SocketEnds(local: pair.ends.local, remote: other)) == nil)
        #expect(try diagnosis.connections(at: pair.ends.local.port).map(\.ends) == [pair.ends])
    }

    @Test(.enabled(if: getuid() == 0, "takes CAP_NET_ADMIN"), arguments: Family.allCases)
    func aConnectionIsDestroyedAndNoOther(_ family: Family) throws {
        let (pair, other) = (try TCPPair(family), try TCPPair(family))
        var diagnosis = try SocketDiagnosis()
        try diagnosis.tryDestroying()
        let found = try #require(try diagnosis.connection(pair.ends))
        #expect(try diagnosis.destroy(found))
        #expect(pair.clientIsReset)
        #expect(try diagnosis.connection(pair.ends) == nil)
        #expect(try !diagnosis.isThere(found))
        #expect(try !diagnosis.destroy(found))
        #expect(try diagnosis.connection(other.ends) != nil)
    }

    /// The cookie tells the two apart.
    @Test func aLaterConnectionWithTheSameEndsIsAnotherOne() throws {
        let pair = try TCPPair(.ipv4)
        var diagnosis = try SocketDiagnosis()
        let found = try #require(try diagnosis.connection(pair.ends))
        var bytes = found.identifier
        bytes[40] ^= 1
        let other = try #require(TCPConnection(family: found.family, identifier: bytes))
        #expect(other != found)
        #expect(try !diagnosis.isThere(other))
    }
}

/// An accepted connection over the loopback, and its client.
private final class TCPPair {
    private let listener: Int32
    private let client: Int32
    private let accepted: Int32
    /// As the accepting side sees them.
    let ends: SocketEnds

    init(_ family: SocketDiagnosisTests.Family) throws {
        let stream = Int32(SOCK_STREAM.rawValue)
        (listener, client) = (
            socket(family == .ipv4 ? AF_INET : AF_INET6, stream, 0),
            socket(family == .ipv6 ? AF_INET6 : AF_INET, stream, 0)
        )
        let port: UInt16
        if family == .ipv4 { port = try Self.listen4(listener) } else { port = try Self.listen6(listener) }
        let address: IPAddress = family == .ipv6 ? .v6(high: 0, low: 1) : .v4(0x7f00_0001)
        let own = family == .ipv6 ? try Self.connect6(client, port) : try Self.connect4(client, port)
        accepted = accept(listener, nil, nil)
        guard accepted >= 0 else { throw Unexpected("accept: \(errno)") }
        ends = SocketEnds(local: SocketEnd(address, port: port), remote: SocketEnd(address, port: own))
    }

    deinit { for descriptor in [listener, client, accepted] { close(descriptor) } }

    /// Whether the client's next read ends with an error.
    var clientIsReset: Bool {
        var limit = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var byte: UInt8 = 0
        return recv(client, &byte, 1, 0) < 0 && errno == ECONNRESET
    }

    private static func with<Address>(
        _ address: inout Address, _ body: (UnsafeMutablePointer<sockaddr>, inout socklen_t) -> Int32
    ) throws {
        var length = socklen_t(MemoryLayout<Address>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, &length) }
        }
        guard result == 0 else { throw Unexpected("socket: \(errno)") }
    }

    private static var loopback4: sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }

    private static func listen4(_ descriptor: Int32) throws -> UInt16 {
        var address = loopback4
        try with(&address) { Glibc.bind(descriptor, $0, $1) }
        guard listen(descriptor, 1) == 0 else { throw Unexpected("listen: \(errno)") }
        try with(&address) { getsockname(descriptor, $0, &$1) }
        return UInt16(bigEndian: address.sin_port)
    }

    /// At all addresses of both families.
    private static func listen6(_ descriptor: Int32) throws -> UInt16 {
        var no: Int32 = 0
        setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &no, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        try with(&address) { Glibc.bind(descriptor, $0, $1) }
        guard listen(descriptor, 1) == 0 else { throw Unexpected("listen: \(errno)") }
        try with(&address) { getsockname(descriptor, $0, &$1) }
        return UInt16(bigEndian: address.sin6_port)
    }

    private static func connect4(_ descriptor: Int32, _ port: UInt16) throws -> UInt16 {
        var address = loopback4
        address.sin_port = port.bigEndian
        try with(&address) { Glibc.connect(descriptor, $0, $1) }
        try with(&address) { getsockname(descriptor, $0, &$1) }
        return UInt16(bigEndian: address.sin_port)
    }

    private static func connect6(_ descriptor: Int32, _ port: UInt16) throws -> UInt16 {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_addr = in6addr_loopback
        address.sin6_port = port.bigEndian
        try with(&address) { Glibc.connect(descriptor, $0, $1) }
        try with(&address) { getsockname(descriptor, $0, &$1) }
        return UInt16(bigEndian: address.sin6_port)
    }
}
