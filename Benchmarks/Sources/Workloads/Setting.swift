import Foundation

/// Where the servers are: what the script that started them wrote down, in JSON.
package struct Setting: Codable, Sendable {
    /// By path (`direct`, `relay`), then by scheme (`http`, `https`; `http2` for a server that chooses that): the URL of
    /// the folder with the files.
    package var urls: [String: [String: String]]
    package var authorityFile: String
    package var relay: RelayFiles?
    /// The command, for a shell, that prints an activation link, which rows with an instance need; nil without a
    /// gateway.
    package var issuer: String?
    /// The port of the server of the socket rows.
    package var socketPort: Int?
    /// An empty folder, for rows that have a store.
    package var folder: String
    /// The name of the file system and machine, for the table's head.
    package var machine: String

    package static func read(_ path: String) throws -> Setting {
        try JSONDecoder().decode(Setting.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    }

    package func job(_ load: Row.Load, peer: Peer) throws -> Job {
        let (isSecure, isHTTP2, path) = (load.isSecure == true, load.isHTTP2 == true, load.path ?? .direct)
        let scheme = isHTTP2 ? "http2" : isSecure ? "https" : "http"
        return try Job(
            peer: peer, url: "\(server(path, scheme))/\(load.file)", sends: load.sends, total: load.total,
            concurrency: load.concurrency, authorityFile: isSecure ? authorityFile : nil, isHTTP2: isHTTP2,
            relay: path == .relay ? relay : nil, issuer: linkIssuer())
    }

    /// The URL of a web server's folder with the files.
    func server(_ path: Row.Load.Path, _ scheme: String) throws -> String {
        guard let folder = urls[path.rawValue]?[scheme] else {
            throw PeerFailure("the setting has no \(path) \(scheme) server")
        }
        return folder
    }

    package func socketServerPort() throws -> Int {
        guard let socketPort else { throw PeerFailure("the setting has no server for sockets") }
        return socketPort
    }

    func linkIssuer() throws -> String {
        guard let issuer else { throw PeerFailure("the setting does not say what issues links") }
        return issuer
    }
}
