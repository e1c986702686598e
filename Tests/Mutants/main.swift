// Switches named security checks off, one by one, in a copy of the sources: each must turn a test red.
//
//     Mutants [--check] [NAME…]
//
// With --check it only sees that every check still stands where the table says.
import Foundation

let arguments = Array(CommandLine.arguments.dropFirst())
do {
    try Mutants(in: URL(filePath: FileManager.default.currentDirectoryPath), named: arguments).run()
} catch {
    FileHandle.standardError.write(Data("mutants: \(error)\n".utf8))
    exit(1)
}

struct Mutants {
    private let repository: URL
    private let onlyChecks: Bool
    private let mutants: [Mutant]

    init(in repository: URL, named arguments: [String]) throws {
        self.repository = repository
        onlyChecks = arguments.contains("--check")
        let names = Set(arguments.filter { !$0.hasPrefix("-") })
        mutants = try Mutant.table(in: repository).filter { names.isEmpty || names.contains($0.name) }
    }

    func run() throws {
        for mutant in mutants {
            let file = repository.appending(path: mutant.file)
            _ = try mutant.applied(to: String(contentsOf: file, encoding: .utf8))
        }
        if onlyChecks { return }
        let laboratory = try Laboratory(repository: repository)
        try laboratory.checkUnchanged(filters: Set(mutants.map(\.filter)))
        var survivors: [String] = []
        for mutant in mutants {
            let outcome = try laboratory.outcome(of: mutant)
            print("\(outcome == .noticed ? "noticed " : "SURVIVED") \(mutant.name): \(outcome.rawValue)")
            // Into a file as well, a line that is printed is there to be read.
            fflush(nil)
            if outcome != .noticed { survivors.append(mutant.name) }
        }
        print("\(mutants.count - survivors.count) of \(mutants.count) mutants were noticed")
        guard survivors.isEmpty else { throw Failure("survivors: \(survivors.joined(separator: ", "))") }
    }
}
