import Foundation
import Glibc
import SallyportPostgreSQL
import TestSupport
import Testing

@testable import SallyportGateway

/// A fleet with tables of its own in the database of this run.
///
/// The gateway's tests run once with gateways that stand alone, and once with `SALLYPORT_TEST_DATABASE`, the URL of a
/// database whose tables they may make (`Tests/Scripts/with-postgresql` starts one).
struct TestFleet: Sendable {
    let membership: FleetMembership
    static let databases: DatabaseOpener = { try PostgresDatabase($0) }

    static var isStandalone: Bool { database == nil }

    private static let database = ProcessInfo.processInfo.environment["SALLYPORT_TEST_DATABASE"]

    /// Nil in a run with gateways that stand alone.
    static func ofThisRun() async throws -> TestFleet? {
        guard let database else { return nil }
        return try await TestFleet(in: database)
    }

    init(in database: String) async throws {
        let schema = "fleet_\(UUID().uuidString.prefix(8).lowercased())"
        let maker = try PostgresDatabase(database)
        _ = try await maker.transaction(.write) { try await $0.run("CREATE SCHEMA \(schema)", []) }
        await maker.close()
        let url = database + (database.contains("?") ? "&" : "?") + "options=-csearch_path%3D\(schema)"
        membership = FleetMembership(url: url, key: FleetKey.generate())
    }

    /// A database of this run that is no fleet's.
    ///
    /// - Parameter port: of another host on this machine that is named first.
    static func database(besides port: UInt16? = nil) throws -> PostgresDatabase {
        var url = try #require(database)
        if let port {
            let start = try #require(url.range(of: "@"))
            url.insert(contentsOf: "127.0.0.1:\(port),", at: start.upperBound)
        }
        return try PostgresDatabase(url)
    }

    /// A database of this run that is no fleet's, and whose connections the server shows under a name.
    static func database(named name: String) throws -> PostgresDatabase {
        let url = try #require(database)
        return try PostgresDatabase(url + (url.contains("?") ? "&" : "?") + "application_name=\(name)")
    }

    /// Full access to the fleet's tables, without its key.
    func owner() throws -> PostgresDatabase { try PostgresDatabase(membership.url) }

    /// The store of a gateway with a key of another fleet.
    func stranger() throws -> FleetStore {
        try FleetStore(owner(), key: #require(FleetKey(FleetKey.generate())))
    }
}

/// A socket on a loopback address that takes connections, and never says anything.
final class DeafListener: Sendable {
    let port: UInt16
    private let descriptor: Int32

    /// - Parameter queue: the kernel keeps one connection more until they are accepted, and drops each further SYN.
    init(queue: Int32 = 8) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && listen(descriptor, queue) == 0
                    && getsockname(descriptor, address, &length) == 0
            }
        }
        self.descriptor = descriptor
        port = UInt16(bigEndian: address.sin_port)
        guard isListening else { throw TestFailure("no listener: \(errno)") }
    }

    deinit { close(descriptor) }
}
