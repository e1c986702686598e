import Foundation
import HTTPTypes
import SallyportCore
import SallyportTransport
import TestSupport

/// A real nginx that speaks HTTP/2 and HTTP/1.1 over TLS, and HTTP/1.1 over IPv6, on loopback.
///
/// A line of its log: `PROTOCOL CONNECTION RESUMED STATUS`, where RESUMED is `r` for a resumed TLS session.
struct WebServer {
    static let length = 4 << 20
    let nginx: Nginx
    /// Of the authority that issued its certificate; DER.
    let authority: [UInt8]
    let content: [UInt8]

    /// - Parameters:
    ///   - requests: how many a connection carries before the server ends it (GOAWAY).
    ///   - versions: of TLS, in nginx's words.
    static func start(
        requestsPerConnection requests: Int = 100_000, versions: String = "TLSv1.2 TLSv1.3", speaksHTTP2: Bool = true
    ) async throws -> WebServer {
        let folder = try TemporaryDirectory()
        let authority = try TestAuthority(name: "Web")
        let identity = try authority.server(names: ["localhost"], addresses: [.v4(0x7f00_0001)])
        try folder.write(identity.pem, to: "site.pem")
        try folder.write(identity.keyPEM, to: "site.key")
        let site = URL(filePath: folder.file("site"))
        try FileManager.default.createDirectory(at: site, withIntermediateDirectories: false)
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: site.path)
        let content = Payload.bytes(length)
        try Data(content).write(to: site.appending(path: "large"))
        try folder.write("ok", to: "site/small")
        let listening = speaksHTTP2 ? "ssl http2" : "ssl"
        let nginx = try await Nginx.start(in: folder) { configuration(folder.path, $0, requests, versions, listening) }
        return try WebServer(nginx: nginx, authority: authority.der, content: content)
    }

    func path(of principal: String = "instance") -> ConnectionPath {
        ConnectionPath(trust: .only([authority]), partition: .of(principal))
    }

    func request(_ path: String) throws -> ExchangeRequest {
        try ExchangeRequest(.get, RequestURL("https://127.0.0.1:\(nginx.port)\(path)"))
    }

    func stored(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(filePath: nginx.folder.file("site/\(name)"))))
    }

    /// The columns of the log, once it has so many lines.
    func log(of count: Int) async throws -> [[String]] {
        guard try await eventually({ nginx.log.count >= count }) else {
            throw Unexpected("The log has \(nginx.log.count) lines instead of \(count).")
        }
        return nginx.log.map { $0.split(separator: " ").map(String.init) }
    }

    private static func configuration(
        _ path: String, _ port: UInt16, _ requests: Int, _ versions: String, _ listening: String
    ) -> String {
        """
        log_format line '$server_protocol $connection $ssl_session_reused $status';
        server {
            listen 127.0.0.1:\(port) \(listening);
            listen [::1]:\(port);
            access_log \(path)/access.log line;
            ssl_certificate \(path)/site.pem;
            ssl_certificate_key \(path)/site.key;
            ssl_protocols \(versions);
            ssl_session_cache shared:sessions:1m;
            root \(path)/site;
            dav_methods PUT;
            keepalive_requests \(requests);
        }
        """
    }
}

extension ConnectionPartition {
    static func of(_ principal: String) -> ConnectionPartition {
        ConnectionPartition(principal: Principal(principal))
    }
}
