import FoundationEssentials
import Glibc
import StoreWorkload
import Testing

@testable import SallyportSecureStore

/// Bits flipped in pages that are in use: `verify` finds what matters without a crash of this process, and no reading
/// returns a wrong value.
@Suite struct FlipTests {
    /// How flips came out, by the part of the file that they hit.
    private struct Tally {
        var found = 0
        var harmless = 0
        var readings: [String: Int] = [:]

        mutating func count(isSound: Bool, _ reading: String) {
            if isSound { harmless += 1 } else { found += 1 }
            readings[reading, default: 0] += 1
        }
    }

    private static let transactions = 120
    /// Under ThreadSanitizer, whose `free` ends a process that frees a wild pointer, in frames of the program itself.
    private static let watchesRaces = dlsym(nil, "__tsan_init") != nil

    @Test func everyFlipThatMattersIsFoundAndNoReadingIsWrong() async throws {
        let fixture = try StoreFixture()
        try await FlipTests.fill(fixture)
        let path = "\(fixture.directory)/data.mdb"
        let image = DataImage(content: Array(try Data(contentsOf: URL(fileURLWithPath: path))))
        let flips = try FlipTests.flips(Soak.cases(400, of: 10_000), in: DataMap(image))
        let reader = Reader(fixture)
        var tallies: [DataMap.Part: Tally] = [:]
        for flip in flips {
            let isSound = try await FlipTests.isSound(fixture, path, after: flip)
            let reading = try reader.outcome(of: flip)
            #expect(reading != "wrong", "\(flip) in \(flip.part)")
            // A sanitizer's report and a trap in Sallyport end the child too: Sallyport's checks must prevent both.
            let endsInLMDB = reading == Reader.endedInLMDB || FlipTests.watchesRaces && reading.hasSuffix("signal 6")
            #expect(!reading.hasPrefix("ended") || endsInLMDB, "\(flip) in \(flip.part): \(reading)")
            // What verify calls sound reads as it was written.
            #expect(!isSound || reading == "same", "\(flip) in \(flip.part): \(reading), and not found")
            tallies[flip.part, default: Tally()].count(isSound: isSound, reading)
        }
        try reader.finish()
        FlipTests.show(tallies)
        let report = try await SecureStore.verify(at: fixture.directory, protectedBy: .keyFile(fixture.keyFile))
        #expect(report.isSound, "The flips were undone.")
    }

    private static func fill(_ fixture: StoreFixture) async throws {
        let store = try await fixture.open()
        for transaction in 1...transactions { try await Workload(writer: 0).perform(transaction, in: store) }
        store.close()
    }

    /// A quarter in keys of leaves, a quarter in branch pages, an eighth in what else of LMDB's is rare, the others
    /// anywhere in pages that are in use.
    private static func flips(_ count: Int, in map: DataMap) throws -> [Flip] {
        var random = SeededGenerator(seed: 7)
        let all = map.bytes.flatMap { part, bytes in bytes.map { (part, $0) } }.sorted { $0.1 < $1.1 }
        let rare: [DataMap.Part] = [.meta, .freeList, .overflowHeader, .leafHeader]
        return try (0..<count).map { index in
            let bit = Int.random(in: 0..<8, using: &random)
            let parts: [DataMap.Part?] = [
                .leafKey, .leafKey, .branch, .branch, rare[index / 8 % rare.count], nil, nil, nil,
            ]
            guard let part = parts[index % parts.count] else {
                let (part, offset) = try #require(all.randomElement(using: &random))
                return Flip(part: part, offset: offset, bit: bit)
            }
            let bytes = try #require(map.bytes[part])
            return Flip(part: part, offset: try #require(bytes.randomElement(using: &random)), bit: bit)
        }
    }

    private static func isSound(_ fixture: StoreFixture, _ path: String, after flip: Flip) async throws -> Bool {
        try flip.perform(on: path)
        defer { try? flip.perform(on: path) }
        return try await SecureStore.verify(at: fixture.directory, protectedBy: .keyFile(fixture.keyFile)).isSound
    }

    private static func show(_ tallies: [DataMap.Part: Tally]) {
        print("flips: part | found by verify | harmless | as LMDB alone reads them, in a process of its own")
        for part in DataMap.Part.allCases {
            guard let tally = tallies[part] else { continue }
            let readings = tally.readings.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            print("flips: \(part) | \(tally.found) | \(tally.harmless) | \(readings.joined(separator: ", "))")
        }
    }
}

struct Flip: Sendable {
    let part: DataMap.Part
    let offset: Int
    let bit: Int

    func perform(on path: String) throws {
        let file = open(path, O_RDWR | O_CLOEXEC)
        defer { close(file) }
        var byte: UInt8 = 0
        try #require(pread(file, &byte, 1, off_t(offset)) == 1)
        byte ^= 1 << UInt8(bit)
        try #require(pwrite(file, &byte, 1, off_t(offset)) == 1)
    }
}

/// A child that reads the damaged file through LMDB, started anew each time that LMDB ended it.
private final class Reader {
    private let fixture: StoreFixture
    private var child: Child?

    init(_ fixture: StoreFixture) { self.fixture = fixture }

    static let endedInLMDB = "ended in LMDB"

    func outcome(of flip: Flip) throws -> String {
        let child = try self.child ?? start()
        self.child = child
        try child.write("\(flip.offset) \(flip.bit)")
        let line = try child.readLine()
        if let line, !line.hasPrefix("ended") { return line }
        self.child = nil
        let status = try child.wait()
        try flip.perform(on: "\(fixture.directory)/data.mdb")
        return line ?? "ended without a word, with \(status)"
    }

    /// A sanitizer may report only at the end, and does so by the exit status.
    func finish() throws {
        guard let child else { return }
        child.endInput()
        #expect(try child.wait() == 0, "The child ended with a report.")
    }

    private func start() throws -> Child {
        let child = try Child(["read", fixture.directory, fixture.keyFile, "120"])
        try #require(try child.readLine() == "open")
        return child
    }
}
