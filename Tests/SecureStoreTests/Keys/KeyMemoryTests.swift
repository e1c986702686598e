import FoundationEssentials
import Glibc
import Testing

@testable import SallyportSecureStore

@Suite struct KeyMemoryTests {
    @Test func keysLieInLockedPagesThatCoreDumpsAndChildrenDoNotGet() throws {
        let memory = KeyMemory()
        let slot = memory.makeSlot()
        let address = UInt(bitPattern: slot.pointer)
        let region = try #require(try Region.all().first { $0.range.contains(address) })
        #expect(region.flags.contains("dd"), "left out of core dumps")
        #expect(region.flags.contains("wf"), "empty in a child")
        // The sanitizers let mlock(2) do nothing.
        let isSanitized = dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
        #expect(isSanitized || region.flags.contains("lo") == memory.isLocked, "locked, unless the system refuses")
        slot.pointer.storeBytes(of: 0x1234_5678, as: UInt32.self)
        memory.clear()
        #expect(slot.pointer.load(as: UInt32.self) == 0)
    }

    @Test func aSlotIsClearedWhenItIsLetGoOf() {
        let memory = KeyMemory()
        var slot: KeySlot? = memory.makeSlot()
        let pointer = slot!.pointer
        pointer.storeBytes(of: 0x1234_5678, as: UInt32.self)
        slot = nil
        #expect(pointer.load(as: UInt32.self) == 0)
        // More than a page of them, each a place of its own.
        let slots = (0..<100).map { _ in memory.makeSlot() }
        #expect(Set(slots.map { UInt(bitPattern: $0.pointer) }).count == 100)
    }

    @Test func aRingThatIsLetGoOfTakesItsKeysAlong() {
        weak var memory: KeyMemory?
        do {
            let ring = KeyRing.generate()
            memory = ring.memory
            #expect(ring.cipher(ofCollection: [1]) === ring.cipher(ofCollection: [1]))
        }
        #expect(memory == nil, "the ring and its ciphers hold each other")
    }

    /// Looks through all memory that a core dump would hold, while a store is open and in use.
    @Test func noKeyLiesWhereACoreDumpWouldHoldIt() async throws {
        let fixture = try StoreFixture()
        try await fixture.open().close()
        let store = try await fixture.open()
        let texts: StoreCollection<Int, String> = store.collection("t", of: String.self, keyedBy: Int.self)
        for number in 0..<20 { try await store.write { try $0.set("x", for: number, in: texts) } }
        #expect(try store.read { try $0.value(for: 7, in: texts) } == "x")
        try await store.rotateDataKey()
        try await store.finishRotation()
        let keys = [store.ring.indexKey, store.ring.current.key]
        for key in keys { #expect(key.withBytes { try? Region.dumpable(contain: $0) } == false) }
        // The search finds what is there.
        let planted = [UInt8](repeating: 0, count: 32).map { _ in UInt8.random(in: 0...255) }
        #expect(try planted.withUnsafeBytes { try Region.dumpable(contain: $0) })
        _ = planted.count
    }
}

/// A mapping of this process (proc(5), `smaps`).
private struct Region {
    var range: Range<UInt>
    var isReadable: Bool
    var isWritable: Bool
    var flags: Set<Substring> = []

    static func all() throws -> [Region] {
        let text = String(decoding: try Files.read("/proc/self/smaps", upTo: 64 << 20), as: UTF8.self)
        var regions: [Region] = []
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            if words[0] == "VmFlags:" {
                regions[regions.count - 1].flags = Set(words.dropFirst())
            } else if !words[0].hasSuffix(":"), let dash = words[0].firstIndex(of: "-"),
                let start = UInt(words[0][..<dash], radix: 16),
                let end = UInt(words[0][words[0].index(after: dash)...], radix: 16)
            {
                regions.append(
                    Region(
                        range: start..<end, isReadable: words[1].hasPrefix("r"), isWritable: words[1].contains("w")))
            }
        }
        return regions
    }

    /// Whether any writable memory that a core dump holds has these bytes. They must lie in memory that it does not.
    static func dumpable(contain needle: UnsafeRawBufferPointer) throws -> Bool {
        let memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
        defer { close(memory) }
        let size = 1 << 20
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: size + 64, alignment: 16)
        defer { buffer.deallocate() }
        let own = UInt(bitPattern: buffer)..<UInt(bitPattern: buffer) + UInt(size + 64)
        for region in try all() where region.isReadable && region.isWritable && !region.flags.contains("dd") {
            for start in stride(from: region.range.lowerBound, to: region.range.upperBound, by: size) {
                let wanted = min(size + needle.count - 1, Int(region.range.upperBound - start))
                let count = pread(memory, buffer, wanted, off_t(start))
                guard let found = find(needle, in: UnsafeRawBufferPointer(start: buffer, count: max(count, 0))) else {
                    continue
                }
                // Not the copy that a search before this one left in the buffer.
                if !own.contains(start + UInt(found)) { return true }
            }
        }
        return false
    }

    private static func find(_ needle: UnsafeRawBufferPointer, in bytes: UnsafeRawBufferPointer) -> Int? {
        var offset = 0
        while bytes.count - offset >= needle.count, let start = bytes.baseAddress, let wanted = needle.baseAddress {
            let rest = bytes.count - offset - needle.count + 1
            guard let next = memchr(start + offset, Int32(needle[0]), rest) else { return nil }
            offset = UnsafeRawPointer(next) - start
            if memcmp(next, wanted, needle.count) == 0 { return offset }
            offset += 1
        }
        return nil
    }
}
