// Switches named security checks off, one by one: each must make a test fail. All are compiled in once, in a copy of
// the sources, and the environment chooses one for each run of its tests.
//
//     Mutants [--check] [NAME…]
//
// With --check it only verifies that every check is still where the tables say.
import Foundation

let arguments = Array(CommandLine.arguments.dropFirst())
do {
    let names = Set(arguments.filter { !$0.hasPrefix("-") })
    let mutants = try Mutants(
        in: URL(filePath: FileManager.default.currentDirectoryPath, directoryHint: .isDirectory), named: names)
    if arguments.contains("--check") { try mutants.check() } else { try await mutants.run() }
} catch {
    FileHandle.standardError.write(Data("mutants: \(error)\n".utf8))
    exit(1)
}
