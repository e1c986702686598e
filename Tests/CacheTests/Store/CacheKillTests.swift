import Foundation
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportCache
@testable import SallyportSecureStore

/// A process that fills a cache is killed at random instants: the cache opens, has whole entries only, and nothing of
/// those that were not whole.
@Suite(.timeLimit(.minutes(3))) struct CacheKillTests {
    @Test func wholeEntriesSurviveAKill() async throws {
        let folder = try TemporaryDirectory()
        var (next, read) = (0, 0)
        for round in 0..<12 {
            let child = try ChildProcess(
                Programs.built("CacheChild"), [folder.file("store"), folder.file("key"), "\(next)"])
            // Some are killed while they start; the others have the store open, however long the start takes.
            if !round.isMultiple(of: 4) {
                let isOpen = try await eventually(within: .seconds(20)) { child.output.hasPrefix("open\n") }
                #expect(isOpen, "\(child.error)")
            }
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...240)))
            child.signal(SIGKILL)
            let told = try await child.outcome(within: .seconds(20)).output.split(separator: "\n").compactMap {
                Int($0)
            }
            read += try await check(folder, told, round)
            next = (told.last ?? next) + 100
        }
        #expect(read > 0)
    }

    /// - Returns: how many entries there are.
    private func check(_ folder: TemporaryDirectory, _ told: [Int], _ round: Int) async throws -> Int {
        guard FileManager.default.fileExists(atPath: folder.file("store")) else { return 0 }
        let site = try await Site(in: folder) { _, _ in Answer(200, ["X-Server": "asked"]) }
        await site.cache.settle()
        let report = try await site.store.verificationAfterUncleanClose()
        #expect(report?.isSound ?? true, "round \(round): \(report.debugDescription)")
        let slots = site.cache.state.withLock { $0.index.all }
        for slot in slots {
            let (answer, inline) = try #require(site.cache.entryStorage.answer(slot.id), "round \(round)")
            let body = try #require(site.cache.body(of: StoredAnswer(slot: slot, answer: answer, body: inline)))
            let number = try #require(Int(answer.url.split(separator: "?").last ?? ""))
            #expect(body.count == [100, 5000, 70_000, 400_000][number % 4])
            let expected = Data(repeating: UInt8(truncatingIfNeeded: number), count: body.count)
            #expect(Data(body) == expected, "round \(round): \(number)")
        }
        // What came long before may have made room.
        for number in told.suffix(20) {
            let url = try RequestURL("https://a.example/?\(number)")
            #expect(!site.cache.entries(of: url).isEmpty, "round \(round): \(number) was stored.")
        }
        try checkLeftovers(site, slots)
        site.store.close()
        return slots.count
    }

    /// Every piece of a body belongs to an entry.
    private func checkLeftovers(_ site: Site, _ slots: [IndexSlot]) throws {
        let storage = site.cache.entryStorage
        let (pieces, bodies) = try site.store.read { transaction in
            var pieces = 0
            try transaction.tree.forEach(prefix: site.store.ring.pieceCipher.identifier) {
                place, _ throws(StoreError) in
                if place.count > RecordCipher.identifierLength { pieces += 1 }
                return true
            }
            return (pieces, try transaction.count(of: storage.bodies))
        }
        let streamed = slots.filter { site.cache.entryStorage.answer($0.id)?.answer.isStreamed == true }
        #expect(bodies == streamed.count)
        let lengths = streamed.compactMap { site.cache.entryStorage.answer($0.id)?.answer.length }
        let expected = lengths.map { (Int($0) + StreamManifest.pieceLength - 1) / StreamManifest.pieceLength }
        #expect(pieces == expected.reduce(0, +), "Nothing is left over.")
    }
}
