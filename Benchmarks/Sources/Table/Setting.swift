import Foundation
import Workloads

/// Where the servers are: what the script that started them wrote down, in JSON.
struct Setting: Codable {
    /// By path (`direct`, `relay`), then by scheme (`http`, `https`): the URL of the folder with the files.
    var urls: [String: [String: String]]
    var authorityFile: String
    var relay: RelayFiles
    /// The name of the file system and machine, for the table's head.
    var machine: String

    static func read(_ path: String) throws -> Setting {
        try JSONDecoder().decode(Setting.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    }

    func job(_ scenario: Scenario, peer: Peer) throws -> Job {
        let scheme = scenario.isSecure ? "https" : "http"
        guard let folder = urls[scenario.path.rawValue]?[scheme] else {
            throw PeerFailure("the setting has no \(scenario.path) \(scheme) server")
        }
        return Job(
            peer: peer, url: "\(folder)/\(scenario.file)", total: scenario.total, concurrency: scenario.concurrency,
            authorityFile: scenario.isSecure ? authorityFile : nil,
            relay: scenario.path == .relay ? relay : nil)
    }
}
