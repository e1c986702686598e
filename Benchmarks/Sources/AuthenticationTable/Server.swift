import Foundation
import Glibc
import Synchronization

/// Challenges requests without a credential, by the method in the path, and accepts every credential.
final class Server: Sendable {
    let port: UInt16
    private let count = Atomic(0)
    private let time = Atomic(0)

    /// What its threads took so far, which is none of the client's, in seconds.
    var cpu: Double { Double(time.load(ordering: .relaxed)) / 1e9 }

    var challenges: Int { count.load(ordering: .relaxed) }

    private static let methods = [
        "/basic": "Basic realm=\"basic\"",
        "/md5": "Digest realm=\"md5\", nonce=\"n1\", qop=\"auth\", algorithm=MD5, domain=\"/md5/\"",
        "/sha256": "Digest realm=\"256\", nonce=\"n2\", qop=\"auth\", algorithm=SHA-256, domain=\"/sha256/\"",
        "/sha512": "Digest realm=\"512\", nonce=\"n3\", qop=\"auth\", algorithm=SHA-512-256, domain=\"/sha512/\"",
        "/ntlm": "NTLM",
        "/session":
            "Digest realm=\"s\", nonce=\"n4\", qop=\"auth\", algorithm=SHA-256-sess, userhash=true, domain=\"/session/\"",
    ]

    /// What MS-NLMP §4.2.4.3 says to the first message.
    private static let challenge =
        "NTLM TlRMTVNTUAACAAAADAAMADgAAAAzgoriASNFZ4mrze8AAAAAAAAAACQAJABEAAAABgBwFwAAAA9TAGUAcgB2AGUAcgACAAwARABvAG0AYQBpAG4AAQAMAFMAZQByAHYAZQByAAAAAAA="

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
        let accepted = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8)
        var last = Self.threadTime()
        var isKnown = false
        while true {
            let count = recv(descriptor, &buffer, buffer.count - 1, 0)
            guard count > 0 else { break }
            buffer[count] = 0
            let text = buffer.map { CChar(bitPattern: $0) }
            let isSaid = strstr(text, "\r\nAuthorization:") != nil
            let isFirst = isSaid && strstr(text, "NTLM TlRMTVNTUAAB") != nil
            isKnown = isKnown || isSaid && !isFirst && strstr(text, "NTLM TlRM") != nil
            let bytes =
                isFirst
                ? asking(Self.challenge)
                : isSaid || isKnown ? accepted : answer(String(decoding: buffer[..<count], as: UTF8.self)) ?? accepted
            _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            let now = Self.threadTime()
            time.add(now - last, ordering: .relaxed)
            last = now
        }
        close(descriptor)
    }

    private func answer(_ head: String) -> [UInt8]? {
        let path = "/" + (head.split(separator: "/", maxSplits: 2).dropFirst().first ?? "")
        return Self.methods[path].map(asking)
    }

    private func asking(_ method: String) -> [UInt8] {
        count.add(1, ordering: .relaxed)
        return Array("HTTP/1.1 401 U\r\nWWW-Authenticate: \(method)\r\nContent-Length: 0\r\n\r\n".utf8)
    }

    private static func threadTime() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}
