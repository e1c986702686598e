internal import Foundation
internal import Glibc

/// A network of its own beside this machine's, joined to it by one wire; gone with this value.
///
/// It takes root and iproute2: where ``isAllowed`` is false, tests make do with loopback addresses.
package final class NetworkNamespace: Sendable {
    package let name: String
    /// Its end of the wire, which this machine reaches.
    package let address: String
    /// Addresses that are unreachable from outside.
    package let inside: [String]
    private let number: UInt16

    /// Whether this process may make one.
    package static func isAllowed() async -> Bool {
        guard getuid() == 0 else { return false }
        return (try? await NetworkNamespace.make()) != nil
    }

    /// - Parameter count: of the addresses inside.
    package static func make(addresses count: Int = 4) async throws -> NetworkNamespace {
        let namespace = NetworkNamespace(count)
        try await namespace.build()
        return namespace
    }

    /// Tests that run at the same time have other numbers. The link's two addresses belong to a network reserved for
    /// tests (RFC 2544).
    private init(_ count: Int) {
        let share = 0x4000 / UInt16(TestRing.count)
        number = UInt16(TestRing.number) * share + .random(in: 0..<share)
        name = "sallyport-\(number)"
        address = Self.address(number, 2)
        inside = (1...count).map { "10.231.0.\($0)" }
    }

    private static func address(_ number: UInt16, _ end: UInt16) -> String {
        "198.18.\(number >> 6).\((number & 0x3f) << 2 | end)"
    }

    deinit {
        // Its interfaces go with it, once the programs that run in it have ended.
        let child = try? ChildProcess("/usr/bin/env", ["ip", "netns", "delete", name])
        for _ in 0..<400 where child?.isRunning == true { usleep(5_000) }
    }

    private func build() async throws {
        let (ours, theirs) = ("sp\(number)o", "sp\(number)i")
        let addresses = inside.map { "ip -n \(name) address add \($0)/32 dev lo" }.joined(separator: "\n")
        let script = """
            set -e
            ip netns add \(name)
            ip link add \(ours) type veth peer name \(theirs) netns \(name)
            ip address add \(Self.address(number, 1))/30 dev \(ours)
            ip link set \(ours) up
            ip -n \(name) address add \(address)/30 dev \(theirs)
            ip -n \(name) link set \(theirs) up
            ip -n \(name) link set lo up
            \(addresses)
            """
        let made = try await ChildProcess("/bin/bash", ["-c", script]).outcome()
        guard made.status == 0 else { throw Unexpected("ip netns: \(made.error)") }
    }
}
