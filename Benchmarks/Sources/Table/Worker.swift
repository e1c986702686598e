import Foundation
import Workloads

/// Runs a job in a process of its own, so that CPU time and memory are the peer's alone.
enum Worker {
    static func run(_ job: Job) throws -> Cost {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["worker", String(decoding: try JSONEncoder().encode(job), as: UTF8.self)]
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw PeerFailure("\(job.peer.rawValue) failed at \(job.url), exit \(process.terminationStatus)")
        }
        return try JSONDecoder().decode(Cost.self, from: data)
    }
}
