import Foundation
import SallyportCore
import TestSupport
import Testing

/// A real nginx on a loopback address of its own that answers the gateway's egress address only.
final class Intranet: Sendable {
    static let egress = "127.0.0.2"
    static let address = "127.0.0.3"
    static let name = "intranet.corp.example"

    let port: UInt16
    /// Of the authority that issued the server's certificate; PEM.
    let authorityFile: String
    private let folder: TemporaryDirectory
    private let server: ChildProcess

    var url: String { "https://\(Self.name):\(port)" }

    static func start() async throws -> Intranet {
        for _ in 0..<10 {
            if let intranet = try await Intranet(port: UInt16.random(in: 20_000..<32_000)) { return intranet }
        }
        throw Unexpected("nginx found no port")
    }

    private init?(port: UInt16) async throws {
        self.port = port
        folder = try TemporaryDirectory()
        try FileManager.default.setAttributes([.posixPermissions: 0o711], ofItemAtPath: folder.path)
        let authority = try TestAuthority(name: "Corp Intranet CA")
        let address = try #require(IPAddress(Self.address))
        let identity = try authority.server(names: [Self.name], addresses: [address])
        authorityFile = try folder.write(authority.pem, to: "ca.pem")
        try folder.write(identity.pem, to: "site.pem")
        try folder.write(identity.keyPEM, to: "site.key")
        try FileManager.default.createDirectory(atPath: folder.file("site"), withIntermediateDirectories: false)
        try folder.write("The figures of today.\n", to: "site/report.txt")
        try folder.write(Self.configuration(folder.path, port), to: "nginx.conf")
        server = try ChildProcess(
            "/usr/bin/env", ["nginx", "-e", folder.file("error.log"), "-c", folder.file("nginx.conf")],
            environment: ["PATH": "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"])
        let (server, folder) = (server, folder)
        let isUp = try await eventually {
            !server.isRunning
                || (try? String(contentsOfFile: folder.file("nginx.pid"), encoding: .utf8))?.count ?? 0 > 1
        }
        // A port that another has taken ends nginx: the caller tries the next.
        guard isUp, try await !eventually(within: .milliseconds(300), { !server.isRunning }) else { return nil }
    }

    deinit { server.signal(SIGTERM) }

    /// Puts a file of random octets on the server, and returns their SHA-256.
    @discardableResult
    func addRandomFile(_ name: String, length: Int) async throws -> String {
        let path = folder.file("site/\(name)")
        // A stream cipher under a random key: much faster than the system's source.
        let script = """
            set -e
            key=$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \\n')
            head -c \(length) /dev/zero | openssl enc -aes-128-ctr -K $key -iv \(String(repeating: "0", count: 32)) > '\(path)'
            sha256sum '\(path)' | cut -c1-64
            """
        let outcome = try await ChildProcess("/bin/bash", ["-o", "pipefail", "-c", script]).outcome(within: .seconds(120))
        try #require(outcome.status == 0, "\(outcome.error)")
        return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The lines of the access log: `ADDRESS "REQUEST" STATUS OCTETS`.
    var log: [String] {
        ((try? String(contentsOfFile: folder.file("access.log"), encoding: .utf8)) ?? "").split(separator: "\n")
            .map(String.init)
    }

    private static func configuration(_ path: String, _ port: UInt16) -> String {
        """
        daemon off;
        worker_processes 1;
        pid \(path)/nginx.pid;
        error_log \(path)/error.log error;
        events { worker_connections 512; }
        http {
            log_format line '$remote_addr "$request" $status $body_bytes_sent';
            client_body_temp_path \(path)/body;
            proxy_temp_path \(path)/proxy;
            fastcgi_temp_path \(path)/fastcgi;
            uwsgi_temp_path \(path)/uwsgi;
            scgi_temp_path \(path)/scgi;
            keepalive_requests 1000000;
            geo $is_stranger { default 1; \(egress) 0; }
            server {
                listen \(address):\(port) ssl;
                access_log \(path)/access.log line;
                ssl_certificate \(path)/site.pem;
                ssl_certificate_key \(path)/site.key;
                root \(path)/site;
                client_max_body_size 0;
                if ($is_stranger) { return 444; }
                location = /echo { return 200 "$request_method $http_x_planted"; }
                location = /away { return 302 /report.txt; }
                location = /teapot { return 418; }
            }
        }
        """
    }
}
