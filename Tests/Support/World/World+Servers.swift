extension World {
    /// Runs `serve` with each connection, with TLS of ``originTLS`` or without.
    package func server(
        isSecure: Bool, _ change: (inout TestTLS) -> Void = { _ in },
        _ serve: @escaping @Sendable (any TestStream) -> Void
    ) throws -> TestServer {
        guard isSecure else { return try TestServer { serve($0) } }
        var tls = originTLS
        change(&tls)
        return try TestServer { [tls] connection in if let client = tls.accept(connection) { serve(client) } }
    }

    /// Sends everything back once the client has ended its side, and ends its own.
    package func echo(isSecure: Bool) throws -> TestServer {
        try server(isSecure: isSecure) { client in
            let bytes = client.readAll()
            guard client.peerEnded else { return }
            for start in stride(from: 0, to: bytes.count, by: 16384) {
                guard client.write(Array(bytes[start..<min(start + 16384, bytes.count)])) else { return }
            }
            client.end()
        }
    }

    /// Sends back what comes, as it comes.
    package func mirror(isSecure: Bool) throws -> TestServer {
        try server(isSecure: isSecure) { client in
            while case let chunk = client.read(upTo: 16384), !chunk.isEmpty { client.write(chunk) }
            if client.peerEnded { client.end() }
        }
    }
}

/// A connection of a test server, with TLS or without.
package protocol TestStream {
    func read(upTo limit: Int) -> [UInt8]
    /// Text up to a blank line; nil if the client ends before.
    func readHead() -> String?
    @discardableResult
    func write(_ bytes: [UInt8]) -> Bool
    /// The client has ended its side as it should.
    var peerEnded: Bool { get }
    /// Ends the server's side.
    func end()
}

extension TestStream {
    package func readAll() -> [UInt8] {
        var bytes: [UInt8] = []
        while case let chunk = read(upTo: 16384), !chunk.isEmpty { bytes += chunk }
        return bytes
    }
}

extension TestConnection: TestStream {
    package var peerEnded: Bool { true }
    package func end() { endSending() }
}

extension TestTLSConnection: TestStream {}
