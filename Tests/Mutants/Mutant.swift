import Foundation

/// One security check switched off, and the tests that must notice.
struct Mutant: Codable {
    /// What the check is, in a word or two.
    var name: String
    /// Relative to the repository.
    var file: String
    /// Stands exactly once in the file.
    var find: String
    var replace: String
    /// For `swift test --filter`.
    var filter: String

    static func table(in repository: URL) throws -> [Mutant] {
        let file = repository.appending(path: "Tests/Mutants/mutants.json")
        return try JSONDecoder().decode([Mutant].self, from: Data(contentsOf: file))
    }

    /// The source without the check.
    ///
    /// - Throws: ``Drift`` where the check does not stand in the source exactly once.
    func applied(to source: String) throws -> String {
        let parts = source.components(separatedBy: find)
        guard parts.count == 2 else { throw Drift(mutant: name, count: parts.count - 1) }
        return parts.joined(separator: replace)
    }
}

/// The source moved on and the table did not.
struct Drift: Error, CustomStringConvertible {
    let mutant: String
    let count: Int
    var description: String { "\(mutant): the check stands \(count) times in its file, not once; mend mutants.json" }
}
