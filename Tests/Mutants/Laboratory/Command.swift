import Foundation

/// A program that writes to a file.
struct Command {
    private let process = Process()
    private let output: URL

    init(_ words: [String], in folder: URL, output: URL, environment: [String: String] = [:]) {
        self.output = output
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = words
        process.currentDirectoryURL = folder
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    }

    /// Runs the program, and returns its exit status.
    func run() async throws -> Int32 {
        _ = FileManager.default.createFile(atPath: output.path, contents: nil)
        let file = try FileHandle(forWritingTo: output)
        defer { try? file.close() }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = file
        process.standardError = file
        return try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
    }
}

struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
