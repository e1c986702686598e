internal import SallyportBase
package import SallyportCore

/// An origin that gives every request the same answer, and remembers the head of each.
package struct RecordingOrigin: Sendable {
    private let server: TestServer
    private let seen = Lock<[String]>([])

    /// - Parameters:
    ///   - challenge: the value of `WWW-Authenticate` for requests without `Authorization`; if nil, they are answered too.
    ///   - tls: nil where it speaks plain HTTP.
    package init(
        _ answer: String = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", challenge: String? = nil,
        with tls: TestTLS? = nil
    ) throws {
        let refusal = challenge.map { "HTTP/1.1 401 No\r\nWWW-Authenticate: \($0)\r\nContent-Length: 0\r\n\r\n" }
        server = try TestServer { [seen] connection in
            func serve(_ readHead: () -> String?, _ write: (String) -> Bool) {
                while let head = readHead() {
                    seen.withLock { $0.append(head) }
                    let isKnown = head.lowercased().contains("\r\nauthorization:")
                    _ = write(isKnown ? answer : refusal ?? answer)
                }
            }
            guard let tls else { return serve(connection.readHead, connection.write) }
            guard let secure = tls.accept(connection) else { return }
            serve(secure.readHead, secure.write)
        }
    }

    /// Of each request, in the order in which they came.
    package var heads: [String] { seen.withLock { $0 } }
    package var acceptedConnections: Int { server.acceptedConnections }

    package func url(_ path: String = "/", scheme: String = "http") throws -> RequestURL {
        try server.url(path, scheme: scheme)
    }
}
