import Glibc
import SallyportBase
import SallyportCore
import SallyportURLLoading
import SallyportUnixSocket
import TestSupport

/// nginx at two Unix sockets, with a server of the test's own behind it for what nginx cannot do.
final class Daemon: Sendable {
    let nginx: Nginx
    private let inner: TestServer
    private let releases: Lock<Int>

    static let file = (0..<300_000).map { UInt8(truncatingIfNeeded: 97 + $0 % 26) }

    init() async throws {
        let releases = Lock(0)
        let inner = try TestServer { Self.answer($0, releases) }
        let folder = try TemporaryDirectory()
        try folder.write(String(decoding: Self.file, as: UTF8.self), to: "file")
        nginx = try await Nginx.start(in: folder) { _ in Self.servers(folder.path, inner.port) }
        (self.inner, self.releases) = (inner, releases)
    }

    func socket(_ name: String = "one") -> String { nginx.folder.file("\(name).sock") }

    func url(_ target: String, at name: String = "one") throws -> RequestURL {
        try UnixSocketURL(socket: socket(name), target: target).url
    }

    /// Lets one answer of `/held` go on.
    func release() { releases.withLock { $0 += 1 } }

    private static func servers(_ folder: String, _ port: UInt16) -> String {
        let inner = "proxy_buffering off; proxy_pass http://127.0.0.1:\(port);"
        return """
            server {
                listen unix:\(folder)/one.sock;
                root \(folder);
                location = /name { return 200 "one $host $request_method $request_uri"; }
                location = /file { }
                location = /moved { return 302 /name; }
                location = /echo { \(inner) }
                location = /held { \(inner) }
                location / { return 404 "nothing"; }
            }
            server {
                listen unix:\(folder)/two.sock;
                location / { return 200 "two"; }
            }
            """
    }

    private static func answer(_ connection: TestConnection, _ releases: Lock<Int>) {
        guard let head = connection.readHead() else { return }
        let isHeld = head.contains(" /held ")
        var body = isHeld ? [UInt8](repeating: 49, count: 2) : []
        if !isHeld {
            let length =
                head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
                .flatMap { Int($0.drop { $0 != " " }.dropFirst()) } ?? 0
            while body.count < length {
                let bytes = connection.read()
                if bytes.isEmpty { return }
                body += bytes
            }
        }
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\nConnection: close\r\n\r\n")
        if isHeld {
            connection.write([body.removeFirst()])
            waitForRelease(releases)
        }
        connection.write(body)
    }

    private static func waitForRelease(_ releases: Lock<Int>) {
        let end = ContinuousClock.now + .seconds(20)
        let take = {
            releases.withLock { count in
                count > 0
                    ? {
                        count -= 1; return true
                    }() : false
            }
        }
        while !take(), ContinuousClock.now < end { pause() }
    }
}

extension Daemon {
    /// A millisecond of a thread that belongs to the test.
    private static func pause() {
        var time = timespec(tv_sec: 0, tv_nsec: 1_000_000)
        nanosleep(&time, nil)
    }
}

/// The sockets that the tests allow.
enum AllowedInTests: UnixSocketAccess {
    private static let sockets = Lock<Set<String>>([])
    static var allowedSockets: Set<String> { sockets.withLock { $0 } }
    static func allow(_ socket: String) { sockets.withLock { _ = $0.insert(socket) } }
}
