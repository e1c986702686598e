import Logging
import SallyportConnecting
import SallyportCore
import SallyportLoading
import TestSupport

@testable import SallyportSocket

/// The sockets of an app in a world.
struct SocketApp: Sendable {
    let world: World
    let sockets: SocketSystem

    /// - Parameter added: lower versions of TLS, as the app adds them.
    init(in world: World, added: TLSVersions = TLSVersions([])) throws {
        let items = [("TLS1.0", TLSVersion.tls10), ("TLS1.1", .tls11)].filter { added.contains($0.1) }.map(\.0)
        self.world = world
        sockets = SocketSystem(
            connector: Connector(gate: world.gate, controlTLSVersions: try ControlTLSVersions(items)),
            logger: Logger(label: "test"))
    }

    /// Trusts the servers of the world.
    func configuration(_ change: (inout SocketConfiguration) throws -> Void = { _ in }) throws -> SocketConfiguration {
        var configuration = SocketConfiguration()
        configuration.trust = try .only([world.origin.der])
        try change(&configuration)
        return configuration
    }

    func open(
        _ server: TestServer, isSecure: Bool, _ change: (inout SocketConfiguration) throws -> Void = { _ in }
    ) async throws -> ByteStream {
        try await sockets.connect(to: server.endpoint, isSecure: isSecure, configuration(change))
    }
}

extension ByteStream {
    func readAll() async throws(LoadError) -> [UInt8] {
        var all: [UInt8] = []
        for try await chunk in bytes { all += chunk }
        return all
    }
}

/// Bytes that no other place of the stream has in a row, and no stream of another seed.
func payload(_ count: Int, seed: UInt8 = 0) -> [UInt8] {
    // Not by map(): without the optimiser that asks the runtime for a type each time, which threads do one by one.
    var bytes = [UInt8](repeating: 0, count: count)
    var index = 0
    while index < count {
        bytes[index] = UInt8(truncatingIfNeeded: (index &* 31 >> 3) ^ Int(seed) &* 41)
        index += 1
    }
    return bytes
}
