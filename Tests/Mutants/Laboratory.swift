import Foundation

/// A copy of the sources with a build of its own, in which checks are switched off and on again.
struct Laboratory {
    enum Outcome: String {
        case noticed = "a test turned red"
        case survived = "all tests stayed green"
        case notBuilt = "the sources without the check do not build; mend mutants.json"
    }

    private let repository: URL
    private let copy: URL
    private let log: URL

    init(repository: URL) throws {
        self.repository = repository
        let folder = repository.appending(path: ".build-mutants")
        copy = folder.appending(path: "source")
        log = folder.appending(path: "log")
        try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
        let parts = ["Package.swift", "Modules", "Plugins", "Tests", "Examples", "Makefile", "Docs"]
            .filter { FileManager.default.fileExists(atPath: repository.appending(path: $0).path) }
        // Keeps times, so that only what changed is built again.
        for part in parts {
            _ = try? FileManager.default.removeItem(at: copy.appending(path: part))
            try run("cp", ["-a", repository.appending(path: part).path, copy.path], in: repository, or: "copy")
        }
    }

    /// The tests are green, and there are some, while nothing is switched off.
    func checkUnchanged(filters: Set<String>) throws {
        guard try build() else { throw Failure("The sources do not build; see \(log.path)") }
        for filter in filters.sorted() {
            guard try test(filter) else { throw Failure("\(filter) fails with all checks on; see \(log.path)") }
            guard try String(contentsOf: log, encoding: .utf8).contains(/Test run with [1-9][0-9]* test/) else {
                throw Failure("\(filter) names no test")
            }
        }
    }

    func outcome(of mutant: Mutant) throws -> Outcome {
        let file = copy.appending(path: mutant.file)
        let original = try String(contentsOf: file, encoding: .utf8)
        defer { try? original.write(to: file, atomically: true, encoding: .utf8) }
        try mutant.applied(to: original).write(to: file, atomically: true, encoding: .utf8)
        guard try build() else { return .notBuilt }
        return try test(mutant.filter) ? .survived : .noticed
    }

    private func build() throws -> Bool {
        try run("swift", ["build", "--build-tests", "--scratch-path", "../build"], in: copy) == 0
    }

    /// A mutant that hangs is noticed as well as one that fails.
    private func test(_ filter: String) throws -> Bool {
        let arguments = [
            "--kill-after=10", "600", "swift", "test", "--skip-build", "--disable-xctest", "--no-parallel",
            "--scratch-path", "../build", "--filter", filter,
        ]
        return try run("timeout", arguments, in: copy) == 0
    }

    private func run(_ program: String, _ arguments: [String], in folder: URL, or failure: String) throws {
        guard try run(program, arguments, in: folder) == 0 else { throw Failure(failure) }
    }

    @discardableResult
    private func run(_ program: String, _ arguments: [String], in folder: URL) throws -> Int32 {
        _ = FileManager.default.createFile(atPath: log.path, contents: nil)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.currentDirectoryURL = folder
        let output = try FileHandle(forWritingTo: log)
        process.standardOutput = output
        process.standardError = output
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }
}

struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
