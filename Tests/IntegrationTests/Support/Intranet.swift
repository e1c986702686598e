import Foundation
import SallyportCore
import TestSupport
import Testing

/// A real nginx on a loopback address of its own that answers the gateway's egress address only.
final class Intranet: Sendable {
    static let egress = "127.0.0.2"
    static let address = "127.0.0.3"
    static let name = "intranet.corp.example"

    /// Of the authority that issued the server's certificate; PEM.
    let authorityFile: String
    private let folder: TemporaryDirectory
    private let server: Nginx

    var port: UInt16 { server.port }
    var url: String { "https://\(Self.name):\(port)" }

    static func start() async throws -> Intranet {
        let folder = try TemporaryDirectory()
        let authority = try TestAuthority(name: "Corp Intranet CA")
        let address = try #require(IPAddress(Self.address))
        let identity = try authority.server(names: [Self.name], addresses: [address])
        let authorityFile = try folder.write(authority.pem, to: "ca.pem")
        try folder.write(identity.pem, to: "site.pem")
        try folder.write(identity.keyPEM, to: "site.key")
        try FileManager.default.createDirectory(atPath: folder.file("site"), withIntermediateDirectories: false)
        try folder.write("The figures of today.\n", to: "site/report.txt")
        // Two minutes of text at 16 bytes a second: it is still being sent, however busy the machine is.
        try folder.write(String(repeating: "slow and steady\n", count: 184), to: "site/slow.txt")
        let server = try await Nginx.start(in: folder) { configuration(folder.path, $0) }
        return Intranet(authorityFile: authorityFile, folder: folder, server: server)
    }

    private init(authorityFile: String, folder: TemporaryDirectory, server: Nginx) {
        (self.authorityFile, self.folder, self.server) = (authorityFile, folder, server)
    }

    /// Puts a file of random bytes on the server, and returns their SHA-256.
    @discardableResult
    func addRandomFile(_ name: String, length: Int) async throws -> String {
        let path = folder.file("site/\(name)")
        // A stream cipher under a random key: much faster than the system's source.
        let initial = String(repeating: "0", count: 32)
        let script = """
            set -e
            key=$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \\n')
            head -c \(length) /dev/zero | openssl enc -aes-128-ctr -K $key -iv \(initial) > '\(path)'
            sha256sum '\(path)' | cut -c1-64
            """
        let arguments = ["-o", "pipefail", "-c", script]
        let outcome = try await ChildProcess("/bin/bash", arguments).outcome(within: .seconds(120))
        try #require(outcome.status == 0, "\(outcome.error)")
        return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The lines of the access log: `ADDRESS "REQUEST" STATUS BYTES`.
    var log: [String] { server.log }

    /// The log, once it has so many lines: nginx writes one after its answer.
    func log(of count: Int) async throws -> [String] {
        guard try await eventually({ self.log.count >= count }) else {
            throw Unexpected("The log has \(log.count) lines instead of \(count).")
        }
        return log
    }

    private static func configuration(_ path: String, _ port: UInt16) -> String {
        """
        log_format line '$remote_addr "$request" $status $body_bytes_sent';
        geo $is_stranger { default 1; \(egress) 0; }
        server {
            listen \(address):\(port) ssl;
            access_log \(path)/access.log line;
            ssl_certificate \(path)/site.pem;
            ssl_certificate_key \(path)/site.key;
            root \(path)/site;
            if ($is_stranger) { return 444; }
            location = /echo { return 200 "$request_method $http_x_planted"; }
            location = /away { return 302 /report.txt; }
            location = /cached.txt { add_header Cache-Control "max-age=3600"; try_files /report.txt =404; }
            location = /teapot { return 418; }
            location = /cookies {
                add_header Set-Cookie "kept=PLANTED-COOKIE; Path=/; Max-Age=3600; Secure";
                add_header Set-Cookie "session=1; Path=/";
                add_header Set-Cookie "PLANTED-COOKIE=PLANTED-COOKIE; Path=/; Domain=example";
                return 200;
            }
            location = /seen { return 200 "$http_cookie"; }
            location = /slow {
                add_header Set-Cookie "slow=1; Path=/; Max-Age=3600";
                # The head counts too, and would take half a minute.
                limit_rate_after 1k;
                limit_rate 16;
                try_files /slow.txt =404;
            }
        }
        """
    }
}
