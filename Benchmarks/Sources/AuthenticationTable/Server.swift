import Foundation
import Glibc
import Synchronization

/// Asks whoever says nothing, by the method of the path, and believes everybody else.
final class Server: Sendable {
    let port: UInt16
    private let count = Atomic(0)

    var challenges: Int { count.load(ordering: .relaxed) }

    private static let methods = [
        "/basic": "Basic realm=\"basic\"",
        "/md5": "Digest realm=\"md5\", nonce=\"n1\", qop=\"auth\", algorithm=MD5, domain=\"/md5/\"",
        "/sha256": "Digest realm=\"256\", nonce=\"n2\", qop=\"auth\", algorithm=SHA-256, domain=\"/sha256/\"",
        "/sha512": "Digest realm=\"512\", nonce=\"n3\", qop=\"auth\", algorithm=SHA-512-256, domain=\"/sha512/\"",
        "/session":
            "Digest realm=\"s\", nonce=\"n4\", qop=\"auth\", algorithm=SHA-256-sess, userhash=true, domain=\"/session/\"",
    ]

    init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 16) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        guard isListening else { throw POSIXError(.EADDRINUSE) }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [self] in
            while true {
                let descriptor = accept(listener, nil, nil)
                Thread.detachNewThread { [self] in serve(descriptor) }
            }
        }
    }

    private func serve(_ descriptor: Int32) {
        var buffer = [UInt8](repeating: 0, count: 8192)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            var answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
            let head = String(decoding: buffer[..<count], as: UTF8.self)
            let path = "/" + (head.split(separator: "/", maxSplits: 2).dropFirst().first ?? "")
            if !head.contains("\r\nAuthorization:"), let method = Self.methods[path] {
                self.count.add(1, ordering: .relaxed)
                answer = "HTTP/1.1 401 U\r\nWWW-Authenticate: \(method)\r\nContent-Length: 0\r\n\r\n"
            }
            let octets = Array(answer.utf8)
            _ = send(descriptor, octets, octets.count, Int32(MSG_NOSIGNAL))
        }
        close(descriptor)
    }
}
