internal import Foundation
internal import Glibc
internal import SallyportBase

/// A real KDC of MIT Kerberos for one realm, on loopback over TCP, stopped with this value.
package final class TestKDC: Sendable {
    package let realm: String
    package let port: UInt16
    package let folder: TemporaryDirectory
    private let environment: [String: String]
    private let network: NetworkNamespace?
    /// The running one, where there is one.
    private let process = Lock<ChildProcess?>(nil)

    /// It has nothing that must be saved.
    deinit { process.withLock { $0 }?.signal(SIGKILL) }

    /// - Parameters:
    ///   - isAhead: by how many seconds its clock is ahead of this machine's.
    ///   - lifetime: the lifetime of tickets, in seconds.
    ///   - address: a further address to listen on.
    ///   - network: the network namespace in which it runs.
    package static func start(
        realm: String = "EXAMPLE.TEST", lifetime: Int = 3600, isAhead seconds: Int = 0, address: String? = nil,
        in network: NetworkNamespace? = nil
    ) async throws -> TestKDC {
        for _ in 0..<10 {
            let port = LoopbackPort.free()
            let kdc = try TestKDC(realm, port, lifetime, seconds, address, network)
            if try await kdc.start() { return kdc }
        }
        throw Unexpected("krb5kdc found no port")
    }

    private init(
        _ realm: String, _ port: UInt16, _ lifetime: Int, _ ahead: Int, _ address: String?,
        _ network: NetworkNamespace?
    ) throws {
        self.realm = realm
        self.network = network
        self.port = port
        folder = try TemporaryDirectory()
        var environment = [
            "KRB5_CONFIG": folder.file("krb5.conf"), "KRB5_KDC_PROFILE": folder.file("kdc.conf"), "TZ": "UTC",
            // What a test has krb5 tell of itself is not told by others.
            "KRB5_TRACE": "/dev/null",
            "PATH": "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin",
        ]
        if ahead != 0 {
            environment["LD_PRELOAD"] = try Self.fakeTime()
            environment["FAKETIME"] = ahead > 0 ? "+\(ahead)s" : "\(ahead)s"
            environment["DONT_FAKE_MONOTONIC"] = "1"
        }
        self.environment = environment
        try folder.write(
            """
            [libdefaults]
            default_realm = \(realm)
            dns_lookup_kdc = false
            dns_lookup_realm = false
            dns_canonicalize_hostname = false
            [realms]
            \(realm) = {
                kdc = 127.0.0.1:\(port)
            }
            """, to: "krb5.conf")
        try folder.write(
            """
            [kdcdefaults]
            kdc_listen = ""
            kdc_tcp_listen = 127.0.0.1:\(port)\(address.map { " \($0):\(port)" } ?? "")
            [realms]
            \(realm) = {
                database_name = \(folder.path)/principal
                key_stash_file = \(folder.path)/stash
                acl_file = \(folder.path)/acl
                max_life = \(lifetime)s
                max_renewable_life = 1d
            }
            [logging]
            kdc = FILE:\(folder.path)/kdc.log
            """, to: "kdc.conf")
    }

    private static func fakeTime() throws -> String {
        let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"]
        let found = folders.map { "\($0)/faketime/libfaketime.so.1" }
            .first { FileManager.default.fileExists(atPath: $0) }
        guard let found else { throw Unexpected("libfaketime is not installed") }
        return found
    }

    // MARK: The process

    /// Starts it again after ``stop()``.
    package func start() async throws -> Bool {
        if !FileManager.default.fileExists(atPath: folder.file("stash")) { try await makeRealm() }
        let child = try ChildProcess("/usr/bin/env", ["krb5kdc", "-n"], environment: environment, in: network)
        let isUp = try await eventually(within: .seconds(20)) { !child.isRunning || child.listens(at: port) }
        // Mapped by now, where it was needed.
        ShiftedTime.removeRemains(of: child.identifier)
        guard isUp, child.isRunning else { return false }
        process.withLock { $0 = child }
        return true
    }

    package func stop() async throws {
        let child = process.withLock { $0 }
        child?.signal(SIGKILL)
        guard try await eventually({ child?.isRunning != true }) else { throw Unexpected("krb5kdc does not end") }
        process.withLock { $0 = nil }
    }

    /// Runs one of krb5's programs to its end.
    private func run(_ program: String, _ arguments: String..., input: String? = nil) async throws -> Outcome {
        let child = try ChildProcess(
            "/usr/bin/env", [program] + arguments, input: input, environment: environment)
        defer { ShiftedTime.removeRemains(of: child.identifier) }
        return try await child.outcome()
    }

    private func makeRealm() async throws {
        let made = try await run("kdb5_util", "create", "-s", "-P", "master", "-r", realm)
        guard made.status == 0 else { throw Unexpected("kdb5_util: \(made.error)") }
    }

    // MARK: What it knows

    /// One query of `kadmin.local`.
    package func administer(_ query: String) async throws {
        if !FileManager.default.fileExists(atPath: folder.file("stash")) { try await makeRealm() }
        let done = try await run("kadmin.local", "-r", realm, "-q", query)
        guard done.status == 0 else { throw Unexpected("kadmin.local \(query): \(done.error)") }
    }

    package func addUser(_ name: String, password: String, _ options: String = "+requires_preauth") async throws {
        try await administer("addprinc \(options) -pw \(password) \(name)")
    }

    /// - Returns: the path of a keytab with the service's key.
    @discardableResult
    package func addService(_ name: String, _ options: String = "") async throws -> String {
        try await administer("addprinc -randkey \(options) \(name)")
        return try await keytab(of: name, "")
    }

    /// - Parameter options: `-norandkey` keeps the key that there is.
    package func keytab(of name: String, _ options: String = "-norandkey") async throws -> String {
        let path = folder.file(name.replacing("/", with: "-") + ".keytab")
        try? FileManager.default.removeItem(atPath: path)
        try await administer("ktadd \(options) -k \(path) \(name)")
        // Apache's children are another user.
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path)
        return path
    }

    /// A credential cache with a ticket of a user, by `kinit`.
    package func cache(of name: String, password: String) async throws -> String {
        let path = folder.file("cache-\(name)")
        let done = try await run("kinit", "-c", "FILE:\(path)", "\(name)@\(realm)", input: "\(password)\n")
        guard done.status == 0 else { throw Unexpected("kinit: \(done.error)") }
        return path
    }

    /// How often it was asked: lines of its log that say so.
    package func count(_ kind: String) -> Int {
        let log = (try? String(contentsOfFile: folder.file("kdc.log"), encoding: .utf8)) ?? ""
        return log.split(separator: "\n").count { $0.contains(kind) && $0.contains("ISSUE") }
    }

    /// Where services of this realm find their settings.
    package var serviceEnvironment: [String: String] { environment }
}
