import CLinux
import Foundation
import Glibc
import Sallyport
import TestSupport
import Testing

/// What an app that runs for long must not see grow.
///
/// `make soak` runs 10,000 transfers after 1,000 for warm-up; `make test` runs 200 after 50.
@Suite(.serialized) struct SoakTests {
    @Test func cancelledTransfersLeaveNothingBehind() async throws {
        let transfers = Soak.transfers ?? 200
        let intranet = try await Intranet.start()
        try await intranet.addRandomFile("medium.bin", length: 2 << 20)
        let site = try await Site.start(intranet)
        let store = try await site.activatedStore()
        let sallyport = try await Sallyport.open(
            store: store, protectedBy: .keyFile("\(store)/key"), application: .init(Site.app, version: Site.version))
        try await sallyport.authorize()
        var configuration = SessionConfiguration()
        configuration.trust = try .systemAnd(pemFile: intranet.authorityFile)
        let session = sallyport.makeSession(configuration)
        let urls = ["report.txt", "medium.bin", "echo", "away"].map { "\(intranet.url)/\($0)" }

        let load = Load(session: session, urls: urls)
        try await load.run(Soak.isOn ? transfers / 10 : 50)
        try await load.settle()
        let before = Usage.now
        let outcome = try await load.run(transfers)
        try await load.settle()
        let after = Usage.now

        // Both endings were taken, each by a good part.
        #expect(outcome.finished > transfers / 10 && outcome.cancelled > transfers / 10, "\(outcome)")
        #expect(outcome.finished + outcome.cancelled == transfers, "\(outcome)")
        // A session keeps fewer connections where some of the last loads did not overlap: on a busy machine.
        #expect(after.descriptors <= before.descriptors + Load.width)
        // A short run ends before the allocator's pools have their size.
        let tolerance = Soak.isOn ? 1.05 : 1.5
        #expect(Double(after.resident) <= Double(before.resident) * tolerance, "\(before) to \(after)")
        print("Soak: \(outcome); \(before) before, \(after) after")
        await sallyport.shutdown()
    }
}

/// Transfers, 16 at once, of which every second one is cancelled after a random time.
private struct Load: Sendable {
    static let width = 16

    struct Outcome: Sendable {
        var finished = 0
        var cancelled = 0
        var failures: [String] = []
    }

    let session: SecureSession
    let urls: [String]

    @discardableResult
    func run(_ count: Int) async throws -> Outcome {
        var outcome = Outcome()
        await withTaskGroup(of: (any Error)?.self) { group in
            for index in 0..<count {
                if index >= Self.width, let ended = await group.next() { outcome.count(ended) }
                group.addTask { await transfer(index) }
            }
            for await ended in group { outcome.count(ended) }
        }
        try #require(outcome.failures.isEmpty, "\(outcome.failures.prefix(3))")
        return outcome
    }

    private func transfer(_ index: Int) async -> (any Error)? {
        let transfer = Task {
            _ = try await session.data(for: .get(urls[index % urls.count]), upTo: .mebibytes(4))
        }
        if index % 2 == 1 {
            try? await Task.sleep(for: .microseconds(Int.random(in: 0...20_000)))
            transfer.cancel()
        }
        do {
            try await transfer.value
            return nil
        } catch {
            return error
        }
    }

    /// Ends with as many connections as the session keeps, and nothing of what was cancelled.
    func settle() async throws {
        for _ in 0..<4 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<Self.width {
                    group.addTask { _ = try await session.data(for: .get(urls[1]), upTo: .mebibytes(4)) }
                }
                try await group.waitForAll()
            }
        }
    }
}

extension Load.Outcome {
    mutating func count(_ error: (any Error)?) {
        switch error {
        case nil: finished += 1
        case let error as LoadError where error.code == .cancelled: cancelled += 1
        case is CancellationError: cancelled += 1
        case .some(let error): failures.append("\(error)")
        }
    }
}

/// What this process holds.
private struct Usage: CustomStringConvertible {
    var descriptors: Int
    /// Bytes.
    var resident: Int

    static var now: Usage {
        malloc_trim(0)
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd"))?.count ?? 0
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
            .dropFirst().first.flatMap { Int($0) }
        return Usage(descriptors: descriptors, resident: (pages ?? 0) * sysconf(Int32(_SC_PAGESIZE)))
    }

    var description: String { "\(descriptors) descriptors, \(resident >> 20) MiB" }
}
