import SallyportCore

@testable import SallyportAuthorization
@testable import SallyportGateway

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension FuzzTarget {
    static let gateway = [connect, declaration, command, key]

    /// What a relay reads of a connection, in one piece and byte by byte.
    private static let connect = FuzzTarget(
        "connect",
        words: [
            "CONNECT ", "a.example:443", " HTTP/1.1\r\n", "Host: ", "\r\n\r\n", "\r\n", "[::1]:1", "\n", "\r",
            "Content-Length: 0", ":0",
        ]
    ) { bytes throws(BrokenProperty) in
        var (whole, parts) = (ConnectHead(limit: 256), ConnectHead(limit: 256))
        let progress = whole.append(bytes)
        var last = ConnectHead.Progress.incomplete
        var count = 0
        for byte in bytes {
            last = parts.append([byte])
            count += 1
            guard case .incomplete = last else { break }
        }
        if case .complete(let consumed) = progress {
            try demand(consumed == count && parts.bytes == whole.bytes, "A head depends on its pieces.")
            guard let request = try? ConnectRequest(head: whole.bytes) else { return }
            try demandRoundTrip(request.target, \.description) { try Endpoint($0) }
        } else if !bytes.isEmpty {
            try demand(progress == last, "What is refused depends on its pieces.")
        }
    }

    private static let declaration = FuzzTarget(
        "declaration",
        text: [
            "users:", "apps:", "servers:", "routes:", "clusters:", "tls:", "\n  - ", "\n", ": ", "&a", "*a", "{", "[",
            "|", "!!", "? ",
        ]
    ) { text throws(BrokenProperty) in
        guard let declared = try? Declaration(yaml: text),
            let directory = try? Directory().applying(declared, prune: true),
            let printed = try? directory.declaration.yaml()
        else { return }
        let read = try? Directory().applying(Declaration(yaml: printed), prune: true)
        try demand(read?.declaration == directory.declaration, "A declaration is read as another.")
    }

    private static let command = FuzzTarget(
        "command", words: ["{\"", "\":{", "\"}", "addUser", "_0", "confirmed", "true", "[[[[", "null", ","]
    ) { bytes throws(BrokenProperty) in
        guard let command = try? JSONDecoder().decode(AdministrationCommand.self, from: Data(bytes)),
            let printed = try? JSONEncoder().encode(command)
        else { return }
        let again = try? JSONDecoder().decode(AdministrationCommand.self, from: printed)
        try demand(again == command, "A command is read as another.")
    }

    private static let key = FuzzTarget(
        "key", text: ["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "\n", "MIG", "="]
    ) { text throws(BrokenProperty) in _ = EnrollmentKey(pem: text) }
}
