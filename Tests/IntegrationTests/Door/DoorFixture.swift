import Foundation
import SallyportCore
import TestSupport
import Testing

/// Servers inside, a gateway that leads to those of them that are listed, and a store of an app.
///
/// The names are known to the gateway alone: a program that goes past the door finds none of them.
struct DoorFixture {
    let inside: InsideServers
    let site: Site
    let store: String

    static func start() async throws -> DoorFixture {
        let inside = try await InsideServers.start()
        let site = try await Site.start()
        let fixture = DoorFixture(inside: inside, site: site, store: try await site.activatedStore())
        try await fixture.list(inside.port)
        try await fixture.list(inside.plainPort)
        return fixture
    }

    /// Lets the app reach a port of ``Intranet/name``, which is ``Intranet/address``.
    func list(_ port: UInt16) async throws {
        try await site.admin(
            "server", "add", "\(Intranet.name):\(port)", "--app", Site.app, "--address", Intranet.address)
    }

    /// `sallyport proxy` on a free port and with these options.
    func openDoor(_ options: String...) async throws -> OpenDoor { try await OpenDoor(store, options, in: site.folder) }

    /// `sallyport run` with the program, which trusts the servers inside.
    func running(
        _ program: [String], options: [String] = [], environment: [String: String] = [:]
    ) throws -> ChildProcess {
        let arguments = ["run", "--store", store, "--ca", inside.authorityFile] + options + ["--"] + program
        return try ChildProcess(Programs.built("sallyport"), arguments, environment: environment)
    }

    func run(
        _ program: String..., options: [String] = [], environment: [String: String] = [:],
        within limit: Duration = .seconds(60)
    ) async throws -> Outcome {
        try await running(program, options: options, environment: environment).outcome(within: limit)
    }

    /// Takes the app's data away.
    func wipe() async throws {
        let instance = try #require(try await site.instances().first).instance
        try await site.withdraw("wipe", instance)
    }
}

/// A real nginx on ``Intranet/address`` with three ports: one for TLS, one in the clear, and one for TLS that is not listed.
final class InsideServers: Sendable {
    /// Of the authority that issued the servers' certificates; PEM.
    let authorityFile: String
    let authority: TestAuthority
    let identity: TestIdentity
    let folder: TemporaryDirectory
    private let server: Nginx

    var port: UInt16 { server.port }
    let plainPort: UInt16
    let unlistedPort: UInt16
    var url: String { "https://\(Intranet.name):\(port)" }
    var plainURL: String { "http://\(Intranet.name):\(plainPort)" }
    var unlistedURL: String { "https://\(Intranet.name):\(unlistedPort)" }
    /// Lines of `ADDRESS "REQUEST" STATUS BYTES`.
    var log: [String] { server.log }
    /// What was asked of the server that is not listed.
    var unlistedLog: String { (try? String(contentsOfFile: folder.file("unlisted.log"), encoding: .utf8)) ?? "" }

    static func start() async throws -> InsideServers {
        let folder = try TemporaryDirectory()
        let authority = try TestAuthority(name: "Corp Intranet CA")
        let identity = try authority.server(names: [Intranet.name])
        let authorityFile = try folder.write(authority.pem, to: "ca.pem")
        try folder.write(identity.pem, to: "site.pem")
        try folder.write(identity.keyPEM, to: "site.key")
        try FileManager.default.createDirectory(atPath: folder.file("site"), withIntermediateDirectories: false)
        try folder.write("The figures of today.\n", to: "site/report.txt")
        try folder.write(String(repeating: "slow and steady\n", count: 4096), to: "site/slow.txt")
        try folder.write(page, to: "site/page.html")
        try folder.write(slowPage, to: "site/slow.html")
        let (plainPort, unlistedPort) = (LoopbackPort.free(), LoopbackPort.free())
        let server = try await Nginx.start(in: folder) { configuration(folder.path, $0, plainPort, unlistedPort) }
        return InsideServers(authorityFile, authority, identity, folder, server, plainPort, unlistedPort)
    }

    private init(
        _ authorityFile: String, _ authority: TestAuthority, _ identity: TestIdentity, _ folder: TemporaryDirectory,
        _ server: Nginx, _ plainPort: UInt16, _ unlistedPort: UInt16
    ) {
        (self.authorityFile, self.authority, self.identity) = (authorityFile, authority, identity)
        (self.folder, self.server) = (folder, server)
        (self.plainPort, self.unlistedPort) = (plainPort, unlistedPort)
    }

    /// A page that its script changes, by what it asks the server for.
    private static let page = """
        <!DOCTYPE html><title>Report</title><link rel="icon" href="data:,">
        <body><p id="place">nothing yet</p>
        <script>
        const request = new XMLHttpRequest();
        request.open("GET", "/report.txt", false);
        request.send();
        document.getElementById("place").textContent = "script: " + 6 * 7 + " " + request.responseText;
        </script>
        """

    /// A page that is not complete before a picture has come, which takes an hour.
    private static let slowPage = """
        <!DOCTYPE html><title>Report</title><link rel="icon" href="data:,">
        <body><p id="place">waiting</p>
        <img src="/slow.txt" onerror="document.getElementById('place').textContent = 'the picture failed'">
        """

    private static func configuration(
        _ path: String, _ port: UInt16, _ plainPort: UInt16, _ unlistedPort: UInt16
    ) -> String {
        let (certificate, key) = ("ssl_certificate \(path)/site.pem;", "ssl_certificate_key \(path)/site.key;")
        return """
            log_format line '$remote_addr "$request" $status $body_bytes_sent';
            access_log \(path)/access.log line;
            root \(path)/site;
            types { text/html html; text/plain txt; }
            server {
                listen \(Intranet.address):\(port) ssl;
                listen \(Intranet.address):\(plainPort);
                \(certificate) \(key)
                location = /echo { return 200 "$request_method $http_cookie$http_authorization$http_proxy_authorization"; }
                location = /slow.txt { limit_rate_after 1k; limit_rate 16; }
                location /simple/ { autoindex on; }
            }
            server {
                listen \(Intranet.address):\(unlistedPort) ssl;
                \(certificate) \(key)
                access_log \(path)/unlisted.log line;
            }
            """
    }
}

/// `sallyport proxy` for the length of a test.
final class OpenDoor: Sendable {
    let process: ChildProcess
    /// Of the place for HTTP and SOCKS.
    let port: UInt16
    /// Of the places that `-L` made, in their order.
    let forwardedPorts: [UInt16]
    private let recordFile: String

    var http: String { "http://127.0.0.1:\(port)" }
    var socks: String { "socks5h://127.0.0.1:\(port)" }

    private struct Report: Decodable { var places: [String] }

    fileprivate init(_ store: String, _ options: [String], in folder: TemporaryDirectory) async throws {
        recordFile = folder.file("records")
        let process = try ChildProcess(
            Programs.built("sallyport"),
            ["proxy", "--store", store, "--listen", "127.0.0.1:0", "--log", recordFile, "--json"] + options)
        self.process = process
        let isReady = try await eventually {
            process.output.hasSuffix("\n") || !process.isRunning
        }
        try #require(isReady && process.isRunning, "\(process.error)")
        let places = try JSONDecoder().decode(Report.self, from: Data(process.output.utf8)).places
        let ports = places.filter { $0.hasPrefix("127.0.0.1:") }.compactMap { UInt16($0.dropFirst(10)) }
        port = try #require(ports.first)
        forwardedPorts = Array(ports.dropFirst())
    }

    struct Record: Decodable {
        var user: UInt32?
        var form: String?
        var target: String?
        var route: String?
        var sent: Int
        var received: Int
        var end: String
    }

    /// Of the connections that are over.
    var records: [Record] {
        let text = (try? String(contentsOfFile: recordFile, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { try? JSONDecoder().decode(Record.self, from: Data($0.utf8)) }
    }

    /// Ends it, and waits until it has ended.
    func close() async throws -> Int32 {
        process.signal(SIGTERM)
        return try await process.outcome().status
    }
}

/// Runs a program of the system, found on the path.
func program(
    _ words: String..., input: String? = nil, environment: [String: String] = [:],
    within limit: Duration = .seconds(60)
) async throws -> Outcome {
    try await ChildProcess("/usr/bin/env", words, input: input, environment: environment).outcome(within: limit)
}
