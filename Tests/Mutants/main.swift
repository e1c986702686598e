// Switches named security checks off, one by one, in a copy of the sources: each must turn a test red.
//
//     Mutants [--check] [NAME…]
//
// With --check it only sees that every check still stands where the table says.
import Foundation

let arguments = Array(CommandLine.arguments.dropFirst())
let repository = URL(filePath: FileManager.default.currentDirectoryPath)
let names = Set(arguments.filter { !$0.hasPrefix("-") })
let mutants = try Mutant.table(in: repository).filter { names.isEmpty || names.contains($0.name) }

for mutant in mutants {
    _ = try mutant.applied(to: String(contentsOf: repository.appending(path: mutant.file), encoding: .utf8))
}
if arguments.contains("--check") { exit(0) }

let laboratory = try Laboratory(repository: repository)
try laboratory.checkUnchanged(filters: Set(mutants.map(\.filter)))
var survivors: [String] = []
for mutant in mutants {
    let outcome = try laboratory.outcome(of: mutant)
    print("\(outcome == .noticed ? "noticed " : "SURVIVED") \(mutant.name): \(outcome.rawValue)")
    if outcome != .noticed { survivors.append(mutant.name) }
}
print("\(mutants.count - survivors.count) of \(mutants.count) mutants were noticed")
if !survivors.isEmpty {
    print("Survivors: \(survivors.joined(separator: ", "))")
    exit(1)
}
