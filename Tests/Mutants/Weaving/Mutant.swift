package import Foundation

/// One security check switched off, and the tests that must notice.
package struct Mutant: Codable, Sendable {
    /// The check's name in a few words; no other mutant has the same.
    package var name: String
    /// Relative to the repository.
    package var file: String
    /// A text that occurs exactly once in the file.
    package var find: String
    package var replace: String
    /// A regular expression for whole names: `Suite`, `Suite.test`, or `One|Other`.
    package var filter: String
    /// Whether the tests run beside a PostgreSQL, over which a fleet's gateways share their state.
    package var database: Bool?

    package init(name: String, file: String, find: String, replace: String, filter: String) {
        (self.name, self.file, self.find, self.replace, self.filter) = (name, file, find, replace, filter)
    }

    package var choice: TestChoice { TestChoice(filter: filter, isOverDatabase: database ?? false) }

    /// The number that chooses it at run time: FNV-1a of its name, so that new entries do not change the numbers of
    /// others.
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

/// The source has changed, and the table no longer matches it.
package struct Drift: Error, CustomStringConvertible {
    package let description: String
    init(_ mutant: String, _ problem: String) { description = "\(mutant): \(problem); mend Tests/Mutants" }
}

/// Some of the tests, and over what they run.
package struct TestChoice: Sendable, Hashable {
    package var filter: String
    package var isOverDatabase: Bool
}
