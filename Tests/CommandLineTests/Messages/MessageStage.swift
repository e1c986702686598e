import Foundation
import SallyportSecureStore
import TestSupport

/// The situations in which the commands of the transcript are run. A name between angle brackets stands for a file, a
/// store, a server or a text; what it names is made when a command needs it for the first time.
actor MessageStage {
    /// Whatever is secret on the stage contains this, but for what gateways issue.
    static let planted = "PLANTED"

    let folder: TemporaryDirectory
    private var places: [String: String] = [:]
    /// Open in this process, so that others find it in use.
    private var held: SecureStore?
    private var site: MessageSite?

    init() throws { folder = try TemporaryDirectory() }

    deinit { held?.close() }

    /// A word of a command with what its places stand for.
    func resolved(_ word: String) async throws -> String {
        var result = word
        for match in word.matches(of: /<([a-z][a-z-]*)>/) {
            result = result.replacing(match.output.0, with: try await place(String(match.output.1)))
        }
        return result
    }

    func place(_ name: String) async throws -> String {
        if let known = places[name] { return known }
        let made = try await make(name)
        places[name] = made
        return made
    }

    private func make(_ name: String) async throws -> String {
        if name == "folder" { return folder.path }
        if name == "secret" { return "\(Self.planted)-SECRET" }
        if name == "control-character" { return "\u{1}" }
        if name == "busy" {
            held = try await MessageStores.open(folder.file(name))
            return folder.file(name)
        }
        if let path = try MessageFiles.make(name, in: folder) { return path }
        if let path = try await MessageStores.make(name, in: folder) { return path }
        return try await standingSite().make(name)
    }

    private func standingSite() async throws -> MessageSite {
        if let site { return site }
        let made = try await MessageSite.start(in: folder)
        site = made
        places.merge(made.places) { known, _ in known }
        return made
    }

    var names: Set<String> { Set(places.keys) }

    /// The same with names in the place of what they stand for.
    func named(_ said: Said) -> Said {
        let known = places.filter { $0.value.count > 3 }.sorted { $0.value.count > $1.value.count }
        func named(_ line: String) -> String {
            known.reduce(line) { $0.replacing($1.value, with: "<\($1.key)>") }
        }
        return Said(output: said.output.map(named), error: said.error.map(named), status: said.status)
    }

    /// The secrets that show in what the program says.
    func shown(in said: Said) -> [String] {
        let text = (said.output + said.error).joined(separator: "\n")
        return ([Self.planted] + (site?.secrets ?? [])).filter { text.contains($0) }
    }
}
