import SallyportBase
import TestSupport

/// Answers `/LENGTH/FRAMING` with as many bytes, in one of the ways in which an answer ends (RFC 9112 §6.3), after the
/// body of the request was read.
enum MixedServer {
    enum Framing: String, CaseIterable {
        case length, chunked, untilClose, lengthAndClose
        /// The server closes the connection and does not say so before.
        case lengthAndSilentClose
    }

    static let longest = 700_000
    static let content = Payload.bytes(longest)

    /// A connection, with TLS or without.
    struct Peer {
        var readHead: () -> String?
        var read: () -> [UInt8]
        var write: ([UInt8]) -> Bool
        var end: () -> Void

        init(_ connection: TestConnection) {
            readHead = { connection.readHead() }
            read = { connection.read() }
            write = { connection.write($0) }
            end = {}
        }

        init(_ tls: TestTLSConnection) {
            readHead = { tls.readHead() }
            read = { tls.read() }
            write = { tls.write($0) }
            end = { tls.end() }
        }
    }

    static func serve(_ peer: Peer) {
        while let head = peer.readHead(), readBody(head, peer) {
            let parts = head.split(separator: " ")[1].split(separator: "/")
            guard let length = Int(parts[0]), let framing = Framing(rawValue: String(parts[1])) else { return }
            guard peer.write(answer(length, framing)) else { return }
            if framing == .length || framing == .chunked { continue }
            return peer.end()
        }
    }

    /// - Returns: false if the client has left.
    private static func readBody(_ head: String, _ peer: Peer) -> Bool {
        let lines = head.lowercased().split(separator: "\r\n")
        if lines.contains("transfer-encoding: chunked") { return readChunks(peer) }
        let line = lines.first { $0.hasPrefix("content-length: ") }
        var missing = line.flatMap { Int($0.dropFirst("content-length: ".count)) } ?? 0
        while missing > 0 {
            let bytes = peer.read()
            if bytes.isEmpty { return false }
            missing -= bytes.count
        }
        return true
    }

    private static func readChunks(_ peer: Peer) -> Bool {
        var last: [UInt8] = []
        while !last.suffix(5).elementsEqual("0\r\n\r\n".utf8) {
            let bytes = peer.read()
            if bytes.isEmpty { return false }
            last = Array((last + bytes).suffix(5))
        }
        return true
    }

    private static func answer(_ length: Int, _ framing: Framing) -> [UInt8] {
        let fields =
            switch framing {
            case .length, .lengthAndSilentClose: "Content-Length: \(length)\r\n"
            case .chunked: "Transfer-Encoding: chunked\r\n"
            case .untilClose: ""
            case .lengthAndClose: "Content-Length: \(length)\r\nConnection: close\r\n"
            }
        let body = content.prefix(length)
        return Array("HTTP/1.1 200 OK\r\n\(fields)\r\n".utf8) + (framing == .chunked ? inChunks(body) : Array(body))
    }

    private static func inChunks(_ body: ArraySlice<UInt8>) -> [UInt8] {
        var (bytes, rest) = ([UInt8](), body)
        while !rest.isEmpty {
            let chunk = rest.prefix(Int.random(in: 1...60_000))
            bytes += Array("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + [13, 10]
            rest = rest.dropFirst(chunk.count)
        }
        return bytes + Array("0\r\n\r\n".utf8)
    }
}
