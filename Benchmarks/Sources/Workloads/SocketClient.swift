import Sallyport
import SocketPeer

/// What one connection of a socket row does.
package enum SocketWork: Sendable {
    package enum Kind: String, Codable, Sendable { case echo, download, upload }

    /// So many messages, one after the other.
    case echo(messages: Int)
    /// So many bytes.
    case download(Int), upload(Int)

    package static let size = 64

    package init(_ kind: Kind, _ amount: Int) {
        self =
            switch kind {
            case .echo: .echo(messages: amount)
            case .download: .download(amount)
            case .upload: .upload(amount)
            }
    }

    /// What the client sends first: what it wants of the server.
    package var order: [UInt8] {
        switch self {
        case .echo: [UInt8(ascii: "e")]
        case .download(let bytes): [UInt8(ascii: "d")] + Self.text(bytes)
        case .upload(let bytes): [UInt8(ascii: "u")] + Self.text(bytes)
        }
    }

    private static func text(_ count: Int) -> [UInt8] { withUnsafeBytes(of: UInt64(count).bigEndian) { Array($0) } }
}

/// Sockets of an activated instance, with TLS to the server of the socket rows, without a relay.
package struct SocketClient: Sendable {
    private let instance: ActivatedInstance
    private let address: String
    private let authority: String

    package init(_ setting: Setting) async throws {
        address = try "localhost:\(setting.socketServerPort())"
        authority = setting.authorityFile
        instance = try await ActivatedInstance(issuer: setting.linkIssuer())
    }

    @concurrent package func run(_ work: SocketWork, connections: Int) async throws {
        let sockets = instance.sallyport.sockets
        var configuration = SocketConfiguration()
        configuration.trust = try .only(pemFile: authority)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<connections {
                group.addTask { [configuration] in
                    let connection = try await sockets.connect(to: address, isSecure: true, configuration)
                    try await Self.carryOut(work, over: connection)
                    connection.reset()
                }
            }
            try await group.waitForAll()
        }
    }

    package func shutdown() async throws { try await instance.shutdown() }

    @concurrent private static func carryOut(_ work: SocketWork, over connection: ByteStream) async throws {
        try await connection.write(work.order)
        switch work {
        case .echo(let messages):
            let message = [UInt8](repeating: 0, count: SocketWork.size)
            for _ in 0..<messages {
                try await connection.write(message)
                var rest = SocketWork.size
                while rest > 0, let chunk = try await connection.read() { rest -= chunk.count }
            }
        case .download(let bytes):
            var rest = bytes
            while rest > 0, let chunk = try await connection.read() { rest -= chunk.count }
        case .upload(let bytes):
            let chunk = [UInt8](repeating: 0, count: 64 << 10)
            for _ in 0..<bytes / chunk.count { try await connection.write(chunk) }
            _ = try await connection.read()
        }
    }
}

/// The same by OpenSSL in C, with blocking calls.
package struct SocketClientInC: Sendable {
    private let port: Int
    private let authority: String

    package init(_ setting: Setting) throws {
        port = try setting.socketServerPort()
        authority = setting.authorityFile
    }

    package func run(_ work: SocketWork, connections: Int) throws {
        let failures =
            switch work {
            case .echo(let messages):
                socket_peer_echo(
                    Int32(port), authority, Int32(SocketWork.size), Int32(messages), Int32(connections))
            case .download(let bytes): socket_peer_bulk(Int32(port), authority, UInt64(bytes), 0)
            case .upload(let bytes): socket_peer_bulk(Int32(port), authority, UInt64(bytes), 1)
            }
        guard failures == 0 else { throw PeerFailure("OpenSSL: a connection failed") }
    }
}
