import Glibc
import StoreWorkload
import Testing

@testable import SallyportSecureStore

/// A process that writes is killed at random instants, also while it makes the store: what it was told is kept is
/// there, and nothing is half there.
@Suite struct KillTests {
    private static let writers = 3

    @Test func everyAcknowledgedWriteSurvivesAKill() async throws {
        let fixture = try StoreFixture()
        var random = SystemRandomNumberGenerator()
        var models = [Model](repeating: Model(), count: Self.writers)
        var acknowledged = 0
        for round in 0..<Soak.cases(25, of: 1000) {
            let progress = try killed(fixture, &random)
            acknowledged += progress.acknowledged
            let store = try await fixture.open()
            for writer in 0..<Self.writers {
                try models[writer].advance(writer, in: store, progress, "round \(round)")
            }
            let report = try await store.verificationAfterUncleanClose()
            #expect(report?.isSound ?? !progress.isOpen, "round \(round): \(report.debugDescription)")
            store.close()
        }
        #expect(acknowledged > 0)
        print(
            "kills: \(Soak.cases(25, of: 1000)), \(acknowledged) acknowledged transactions, none lost, none half there")
    }

    /// What a killed child said.
    private struct Progress {
        var isOpen = false
        var begun: [Int: Int] = [:]
        var done: [Int: Int] = [:]
        var acknowledged = 0

        init(_ lines: [String]) {
            for line in lines {
                let words = line.split(separator: " ")
                if line == "open" { isOpen = true }
                guard words.count == 3, let writer = Int(words[1]), let number = Int(words[2]) else { continue }
                if words[0] == "begin" { begun[writer] = number }
                guard words[0] == "done" else { continue }
                done[writer] = number
                acknowledged += 1
            }
        }
    }

    private func killed(_ fixture: StoreFixture, _ random: inout SystemRandomNumberGenerator) throws -> Progress {
        let child = try Child(["write", fixture.directory, fixture.keyFile, "\(Self.writers)"])
        var lines: [String] = []
        if Int.random(in: 0..<5, using: &random) > 0 {
            for _ in 0..<Int.random(in: 1...60, using: &random) {
                if let line = try child.readLine() { lines.append(line) }
            }
            usleep(UInt32.random(in: 0...3000, using: &random))
        } else {
            usleep(UInt32.random(in: 0...40_000, using: &random))
        }
        child.kill(SIGKILL)
        lines += try child.readLines()
        #expect(try child.wait() == -SIGKILL)
        return Progress(lines)
    }

    /// What a writer's collection must hold.
    private struct Model {
        private var content: [Int64: [UInt8]] = [:]
        private var transactions = 0

        mutating func advance(
            _ writer: Int, in store: SecureStore, _ progress: Progress, _ comment: Comment
        ) throws {
            let workload = Workload(writer: writer)
            let found = try workload.transactions(in: store)
            #expect(found >= progress.done[writer] ?? transactions, comment)
            #expect(found <= progress.begun[writer] ?? transactions, comment)
            for transaction in transactions..<max(found, transactions) {
                workload.apply(transaction + 1, to: &content)
            }
            transactions = found
            #expect(try workload.content(of: store) == content, comment)
        }
    }
}
