import Foundation
import MutantWeaving

/// A copy of the sources with every mutant compiled in, and its build.
struct Laboratory {
    private let repository: URL
    private let copy: Copy
    private let log: URL

    init(of repository: URL, in folder: URL) throws {
        self.repository = repository
        copy = Copy(of: repository, in: folder.appending(path: "source"))
        log = folder.appending(path: "build.log")
        try FileManager.default.createDirectory(at: copy.folder, withIntermediateDirectories: true)
    }

    /// - Returns: the mutants that do not compile; all others are built in.
    func build(_ mutants: [Mutant]) async throws -> [Mutant] {
        var refused: [Mutant] = []
        while true {
            let left = mutants.filter { mutant in !refused.contains { $0.name == mutant.name } }
            try copy.update(with: WovenSources(left, in: repository))
            // Warnings are not errors here: a switched-off check leaves unused variables.
            let build = Command(
                ["Tests/Scripts/swift", "build", "--build-tests"], in: copy.folder, output: log,
                environment: ["SALLYPORT_STRICT": "0"])
            if try await build.run() == 0 { return refused }
            let numbers = try numbersOfErrors()
            let found = left.filter { numbers.contains($0.number) }
            guard !found.isEmpty else { throw Failure("The sources do not build; see \(log.path)") }
            refused += found
        }
    }

    /// The mutants in which the compiler reports errors.
    private func numbersOfErrors() throws -> Set<UInt32> {
        let text = try String(contentsOf: log, encoding: .utf8)
        let numbers = text.matches(of: /(?m)^(\/[^:\n]+):([0-9]+):[0-9]+: error:/).compactMap { match in
            (try? String(contentsOfFile: String(match.output.1), encoding: .utf8)).flatMap { source in
                Int(match.output.2).flatMap { Weaving.number(atLine: $0, of: source) }
            }
        }
        return Set(numbers)
    }

    /// The tests as they were built.
    func tests() async throws -> TestBinary {
        let file = log.deletingLastPathComponent().appending(path: "path.log")
        let command = Command(["Tests/Scripts/swift", "build", "--show-bin-path"], in: copy.folder, output: file)
        guard try await command.run() == 0 else {
            throw Failure("There is no path to the tests; see \(file.path)")
        }
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        guard let path = lines.last(where: { $0.hasPrefix("/") }) else { throw Failure("The tests have no path") }
        return TestBinary(
            path: "\(path)/sallyportPackageTests.xctest", folder: copy.folder,
            logs: log.deletingLastPathComponent())
    }
}
