import Dispatch
import Foundation
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportCache
@testable import SallyportSecureStore

/// What lies in the store, and what of it survives.
@Suite(.timeLimit(.minutes(1))) struct CacheStoreTests {
    private static let secret = Array("a-body-that-nobody-may-read-at-rest/".utf8)

    private func fill(_ site: Site) async throws {
        _ = try await site.get("/short?needle-in-url")
        _ = try await site.get("/long")
        _ = try await site.get("/short?needle-in-url")
    }

    private func secretSite(in folder: TemporaryDirectory? = nil) async throws -> Site {
        try await Site(in: folder) { request, _ in
            let body =
                request.url.path == "/long" ? Array(repeatElement(Self.secret, count: 10_000).joined()) : Self.secret
            return Answer(
                200, ["Cache-Control": "max-age=60", "X-Needle": "needle-in-field", "ETag": "\"needle-in-tag\""],
                body: body)
        }
    }

    @Test func entriesSurviveARestart() async throws {
        let first = try await secretSite()
        try await fill(first)
        let figures = first.cache.statistics
        #expect(figures.entries == 2)
        await first.cache.close()
        first.store.close()
        let second = try await secretSite(in: first.folder)
        #expect(second.cache.statistics.entries == 2 && second.cache.statistics.bytes == figures.bytes)
        try await fill(second)
        #expect(second.count == 0)
    }

    @Test func nothingCachedCanBeReadFromTheFiles() async throws {
        let site = try await secretSite()
        try await fill(site)
        site.store.close()
        let files = try FileManager.default.subpathsOfDirectory(atPath: site.folder.path)
        var bytes = Data()
        for file in files { bytes += (try? Data(contentsOf: URL(fileURLWithPath: site.folder.file(file)))) ?? Data() }
        #expect(bytes.count > 400_000)
        for needle in ["nobody-may-read", "needle-in-url", "needle-in-field", "needle-in-tag", "a.example", "instance"]
        {
            #expect(bytes.range(of: Data(needle.utf8)) == nil, "\(needle)")
        }
    }

    @Test func removalIsForAllOrForAHost() async throws {
        let site = try await Site(.fresh())
        for url in ["https://a.example/", "https://a.example:444/b", "https://b.example/"] {
            _ = try await site.get(url)
        }
        #expect(try await site.cache.remove(host: Host("A.EXAMPLE")) == 2)
        #expect(site.cache.statistics.entries == 1)
        #expect(try await site.get("https://b.example/") == "3")
        #expect(try await site.get("https://a.example/") == "4")
        try await site.cache.removeAll()
        #expect(site.cache.statistics.entries == 0 && site.cache.statistics.bytes == 0)
        #expect(try records(site) == 0)
    }

    @Test func whatCouldNotBeRemovedGoesWithTheNextRemoval() async throws {
        let site = try await Site(.fresh())
        _ = try await site.get()
        let slot = try #require(site.cache.state.withLock { $0.index.all.first })
        // Out of the index, as for each removal, before the store is changed.
        #expect(site.cache.state.withLock { $0.index.remove(slot) })
        await #expect(throws: StoreError(.full, "")) {
            try await site.cache.write({ _ in throw StoreError(.full, "") }, of: [slot.id], in: site.cache.entryStorage)
        }
        #expect(try records(site) == 2)
        #expect(try await site.cache.remove(host: Host("a.example")) == 0)
        #expect(try records(site) == 0, "Nothing is left that could come back with the next opening.")
    }

    @Test func aUseOfAnEntryThatWasConfirmedMeanwhileKeepsItsNewSlot() async throws {
        let site = try await Site { _, number in
            Answer(number == 1 ? 200 : 304, ["Cache-Control": "max-age=10", "ETag": "\"a\""])
        }
        _ = try await site.get()
        let found = try #require(site.cache.state.withLock { $0.index.all.first })
        site.clock.pass(20)
        #expect(try await site.get() == "1")
        site.clock.pass(60)
        // A load that had found the entry before the server confirmed it.
        site.cache.noteUse(of: found, at: site.clock.now)
        await site.cache.close()
        let known = try #require(site.cache.state.withLock { $0.index.all.first })
        #expect(known.received > found.received && known.used == site.clock.now)
        #expect(try site.cache.entryStorage.slots() == [known])
    }

    /// The test holds the store's writer, so that a call that does not wait for it finds the records.
    @Test func clearingCredentialsReturnsWhenTheStoreHasNothingOfThem() async throws {
        let site = try await Site(.fresh())
        _ = try await site.get()
        let (writer, isOver) = (DispatchSemaphore(value: 0), Lock(false))
        site.store.submit({ _ in writer.wait() })
        let left = Task {
            try await site.cache.removeEntries(of: [(.instance, "https://a.example:443")])
            isOver.withLock { $0 = true }
            return try records(site)
        }
        _ = try await eventually(within: .milliseconds(200)) { isOver.withLock { $0 } }
        writer.signal()
        #expect(try await left.value == 0)
    }

    /// The test holds the store's writer until the credentials are cleared. What it writes next finds no answer.
    @Test func anAnswerThatWaitsForTheStoreWhenCredentialsAreClearedIsNotWritten() async throws {
        let site = try await Site(.fresh())
        let storage = site.cache.entryStorage
        let (writer, found) = (DispatchSemaphore(value: 0), Lock<Int?>(nil))
        site.store.submit({ _ in writer.wait() })
        let response = try await site.response(to: site.request(), .instance, under: .unnamed)
        _ = try await response.body.collect(upTo: .mebibytes(64))
        site.store.submit({ try $0.count(of: storage.entries) }) { result in
            found.withLock { $0 = try? result.get() }
        }
        let clearing = Task { try await site.cache.removeEntries(of: [(.instance, "https://a.example:443")]) }
        #expect(try await eventually { site.cache.removalCount > 0 })
        writer.signal()
        try await clearing.value
        #expect(found.withLock { $0 } == 0)
    }

    private func records(_ site: Site) throws -> Int {
        let storage = site.cache.entryStorage
        return try site.store.read { transaction in
            try transaction.count(of: storage.entries) + transaction.count(of: storage.bodies)
                + transaction.count(of: storage.index)
        }
    }

    @Test func theLeastUsedMakeRoom() async throws {
        let site = try await Site(
            Answer(200, ["Cache-Control": "max-age=100000"], body: Array(repeating: 1, count: 40_000)))
        site.cache.diskCapacity = 1_000_000
        for number in 0..<20 {
            _ = try await site.get("/\(number)")
            site.clock.pass(100)
        }
        for number in 0..<5 { _ = try await site.get("/\(number)") }
        #expect(site.count == 20)
        for number in 20..<30 {
            _ = try await site.get("/\(number)")
            site.clock.pass(100)
        }
        await site.cache.settle()
        let figures = site.cache.statistics
        #expect(figures.bytes <= 1_000_000 && figures.evictions > 0)
        #expect(try records(site) == figures.entries * 2)
        let before = site.count
        for number in 0..<5 { _ = try await site.get("/\(number)") }
        #expect(site.count == before, "What was used of late is there.")
        _ = try await site.get("/6")
        #expect(site.count == before + 1)
        site.cache.diskCapacity = 0
        await site.cache.settle()
        #expect(site.cache.statistics.entries == 0)
    }

    @Test func aCapacitySmallerThanAnEntryKeepsNothing() async throws {
        let site = try await Site(Answer(200, ["Cache-Control": "max-age=60"], body: Array(repeating: 1, count: 1000)))
        site.cache.diskCapacity = 19_999
        _ = try await site.get()
        #expect(site.cache.statistics.entries == 0, "A body of more than a twentieth is not kept.")
        site.cache.diskCapacity = 20_000
        _ = try await site.get()
        #expect(site.cache.statistics.entries == 1)
    }

    // MARK: Damage

    private func damage(_ site: Site, _ collection: StoreCollection<[UInt8], [UInt8]>) async throws {
        try await site.store.write { transaction in
            for (place, record) in try transaction.records(of: collection.cipher.identifier) where place.count > 16 {
                var record = record
                record[record.count / 2] ^= 1
                transaction.overwrite(place, with: record)
            }
        }
    }

    @Test func aDamagedEntryIsLoadedAnew() async throws {
        let site = try await secretSite()
        try await fill(site)
        try await damage(site, site.cache.entryStorage.entries)
        try await fill(site)
        #expect(site.count == 4)
        try await fill(site)
        #expect(site.count == 4)
    }

    @Test func aDamagedBodyIsLoadedAnew() async throws {
        let site = try await secretSite()
        try await fill(site)
        try await damage(site, site.cache.entryStorage.bodies)
        let body = try await site.get("/long")
        #expect(body.utf8.count == Self.secret.count * 10_000 && site.count == 3)
    }

    /// Damage in the middle of a long body shows when its head was given already: the server gives the rest.
    @Test func aBodyThatIsLostWhileItIsReadGoesOnFromTheServer() async throws {
        let site = try await secretSite()
        try await fill(site)
        let response = try await site.response(to: site.request("/long"))
        var body = try #require(try await response.body.next())
        try await site.cache.removeAll()
        while let chunk = try await response.body.next() { body += chunk }
        #expect(body == Array(repeatElement(Self.secret, count: 10_000).joined()))
        #expect(site.count == 3)
    }

    @Test func aBodyThatIsLostWhileItIsReadEndsWhereNothingMayBeSent() async throws {
        let site = try await secretSite()
        try await fill(site)
        let response = try await site.response(to: site.request("/long", policy: .returnCacheDataDontLoad))
        _ = try await response.body.next()
        try await site.cache.removeAll()
        let error = await #expect(throws: LoadError.self) { while try await response.body.next() != nil {} }
        #expect(error?.code == .connectionLost)
        #expect(site.count == 2)
    }

    /// RFC 9111 §3.4: by a weak validator, the bytes of two answers may differ.
    @Test func aBodyThatIsLostWhileItIsReadIsNotContinuedByAWeakValidator() async throws {
        let body = Array(repeatElement(Self.secret, count: 10_000).joined())
        let site = try await Site(Answer(200, ["Cache-Control": "max-age=60", "ETag": "W/\"a\""], body: body))
        _ = try await site.get("/long")
        let response = try await site.response(to: site.request("/long"))
        _ = try await response.body.next()
        try await site.cache.removeAll()
        let error = await #expect(throws: LoadError.self) { while try await response.body.next() != nil {} }
        #expect(error?.code == .connectionLost)
        #expect(site.count == 1)
    }

    @Test func aDamagedIndexIsBegunAnew() async throws {
        let first = try await secretSite()
        try await fill(first)
        try await damage(first, first.cache.entryStorage.index)
        first.store.close()
        let second = try await secretSite(in: first.folder)
        await second.cache.settle()
        #expect(second.cache.statistics.entries == 0)
        #expect(try records(second) == 0)
        try await fill(second)
        #expect(second.count == 2 && second.cache.statistics.entries == 2)
    }

    @Test func anEntryThatIsMissingIsLoadedAnew() async throws {
        let site = try await secretSite()
        try await fill(site)
        let storage = site.cache.entryStorage
        try await site.store.write { try $0.removeAll(from: storage.entries) }
        try await fill(site)
        #expect(site.count == 4)
    }

    @Test func aStoreThatIsClosedFailsNoLoad() async throws {
        let site = try await secretSite()
        try await fill(site)
        site.store.close()
        #expect(try await site.response(to: site.request("/long")).head.status == .ok)
        let other = try await site.response(to: site.request("/other"))
        #expect(try await other.body.collect(upTo: .mebibytes(1)) == Self.secret)
    }

    /// A reader that takes its time holds no snapshot of the store.
    @Test func aSlowReaderHoldsNoSnapshot() async throws {
        let site = try await secretSite()
        try await fill(site)
        let response = try await site.response(to: site.request("/long"))
        _ = try await response.body.next()
        #expect(try site.store.statistics().readers == 0 || site.store.statistics().readers == 1)
        try await site.store.write { _ in }
        while try await response.body.next() != nil {}
    }

    // MARK: The object that apps put there

    @Test func onlyTheOriginalCaches() async throws {
        let site = try await Site(.fresh())
        let shared = SharedCache(site.cache)
        let stage = CacheStage(shared, gate: site.gate, policy: .useProtocolCachePolicy, isOn: true)
        let off = CacheStage(shared, gate: site.gate, policy: .useProtocolCachePolicy, isOn: false)
        func get(_ stage: CacheStage, _ policy: CachePolicy? = nil) async throws -> String {
            let request = try site.request(policy: policy)
            let response = try await LoadChain([stage, site.server]).load(request, in: .of(.instance))
            let body = try await response.body.collect(upTo: .mebibytes(1))
            await site.cache.settle()
            return String(decoding: body, as: UTF8.self)
        }
        #expect(try await get(stage) == "1")
        shared.current = nil
        #expect(try await get(stage) == "2")
        await #expect(throws: LoadError(.notInCache, "")) { try await get(stage, .returnCacheDataDontLoad) }
        shared.current = SecureCache(memoryCapacity: 10, diskCapacity: 10)
        #expect(try await get(stage) == "3")
        shared.current = site.cache
        #expect(try await get(stage) == "1")
        #expect(try await get(off) == "4")
    }

    /// The switch is the cache's: it does not matter by which value it is turned.
    @Test func allStagesOfACacheFollowItsSwitch() async throws {
        let site = try await Site(.fresh())
        let stage = CacheStage(cache: site.cache, gate: site.gate)
        func get() async throws -> String {
            let response = try await LoadChain([stage, site.server]).load(site.request(), in: .of(.instance))
            let body = try await response.body.collect(upTo: .mebibytes(1))
            await site.cache.settle()
            return String(decoding: body, as: UTF8.self)
        }
        #expect(try await get() == "1")
        SharedCache(site.cache).current = nil
        #expect(SharedCache(site.cache).current == nil)
        #expect(try await get() == "2")
        SharedCache(site.cache).current = site.cache
        #expect(SharedCache(site.cache).current === site.cache)
        #expect(try await get() == "1")
    }

    @Test(arguments: [HTTPRequest.Method.get, .head, .post])
    func aReloadPastCachesOnTheWaySaysSoAlsoIfTheCacheIsNotUsed(_ method: HTTPRequest.Method) async throws {
        let site = try await Site(.fresh())
        let stage = CacheStage(
            SharedCache(site.cache), gate: site.gate, policy: .reloadIgnoringLocalAndRemoteCacheData, isOn: false)
        let chain = LoadChain([stage, site.server])
        _ = try await chain.load(site.request(method: method), in: .of(.instance)).body.collect(upTo: .mebibytes(1))
        let fields = try site.last.headerFields
        #expect((fields[.cacheControl] == "no-cache") == (method != .post))
        #expect((fields[.custom("Pragma")] == "no-cache") == (method != .post))
        let own = try site.request("/", ["Cache-Control": "max-age=5"], method: method)
        _ = try await chain.load(own, in: .of(.instance)).body.collect(upTo: .mebibytes(1))
        #expect(try site.last.headerFields[.cacheControl] == "max-age=5")
    }

    @Test(arguments: [false, true])
    func anUnsafeRequestInvalidatesAlsoWhereTheCacheIsNotUsed(_ isSwitchedOff: Bool) async throws {
        let site = try await Site(.fresh())
        let shared = SharedCache(site.cache)
        #expect(try await site.get() == "1")
        let stage = CacheStage(shared, gate: site.gate, policy: .useProtocolCachePolicy, isOn: isSwitchedOff)
        if isSwitchedOff { shared.current = nil }
        let chain = LoadChain([stage, site.server])
        let response = try await chain.load(site.request(method: .post), in: .of(.instance))
        _ = try await response.body.collect(upTo: .mebibytes(1))
        shared.current = site.cache
        #expect(try await site.get() == "3")
    }
}
