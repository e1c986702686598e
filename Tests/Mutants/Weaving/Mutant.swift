package import Foundation

/// One security check switched off, and the tests that must notice.
package struct Mutant: Codable, Sendable {
    /// What the check is, in a word or two; no other mutant has it.
    package var name: String
    /// Relative to the repository.
    package var file: String
    /// Stands exactly once in the file.
    package var find: String
    package var replace: String
    /// A regular expression for whole names: `Suite`, `Suite.test`, or `One|Other`.
    package var filter: String

    package init(name: String, file: String, find: String, replace: String, filter: String) {
        (self.name, self.file, self.find, self.replace, self.filter) = (name, file, find, replace, filter)
    }

    /// What chooses it at run time: FNV-1a of its name, so that a table that grows leaves the others alone.
    package var number: UInt32 {
        name.utf8.reduce(0x811c_9dc5) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
    }

    /// The mutants of all tables, in the order of the tables' names.
    package static func tables(in repository: URL) throws -> [Mutant] {
        let folder = repository.appending(path: "Tests/Mutants")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".json") }
        let mutants = try names.sorted().flatMap { name in
            try JSONDecoder().decode([Mutant].self, from: Data(contentsOf: folder.appending(path: name)))
        }
        var known: [UInt32: String] = [:]
        for mutant in mutants {
            guard let other = known.updateValue(mutant.name, forKey: mutant.number) else { continue }
            throw Drift(mutant.name, other == mutant.name ? "the name is taken" : "its number is that of \(other)")
        }
        return mutants
    }
}

/// The source moved on and the table did not.
package struct Drift: Error, CustomStringConvertible {
    package let description: String
    init(_ mutant: String, _ problem: String) { description = "\(mutant): \(problem); mend Tests/Mutants" }
}
