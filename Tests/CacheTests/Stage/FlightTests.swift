import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportCache

/// Equal requests at once.
@Suite(.timeLimit(.minutes(1))) struct FlightTests {
    private func all(_ count: Int, _ load: @escaping @Sendable (Int) async throws -> String) async throws -> [String] {
        try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<count { group.addTask { try await load(number) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test func equalRequestsAreOne() async throws {
        let site = try await Site { _, _ in
            try? await Task.sleep(for: .milliseconds(50))
            return .fresh()
        }
        #expect(try await all(20) { _ in try await site.get() } == Array(repeating: "1", count: 20))
        #expect(site.count == 1)
    }

    @Test func principalsDoNotWaitForEachOther() async throws {
        let site = try await Site { _, _ in
            try? await Task.sleep(for: .milliseconds(50))
            return .fresh()
        }
        _ = try await all(10) { try await site.get("/", principal: Principal("\($0 % 2)")) }
        #expect(site.count == 2)
    }

    /// What varies is loaded for each.
    @Test func requestsThatDifferInWhatVariesAreLoadedEach() async throws {
        let site = try await Site { _, _ in
            try? await Task.sleep(for: .milliseconds(20))
            return Answer(200, ["Cache-Control": "max-age=60", "Vary": "x-a"])
        }
        let bodies = try await all(4) { try await site.get("/", ["X-A": "\($0)"]) }
        #expect(Set(bodies).count == 4 && site.count == 4)
    }

    /// A load that waited for an answer that is not stored then asks the server itself, and later loads do not wait.
    @Test func loadsDoNotWaitTwiceForAnAnswerThatCannotBeStored() async throws {
        let (later, isAlone) = (Lock(0), Lock(false))
        let site = try await Site { _, number in
            guard number > 5 else {
                try? await Task.sleep(for: .milliseconds(100))
                return Answer()
            }
            // None of the later ones is answered before all are there.
            later.withLock { $0 += 1 }
            let areThere = try? await eventually { later.withLock { $0 } == 5 || isAlone.withLock { $0 } }
            if areThere != true { isAlone.withLock { $0 = true } }
            return Answer()
        }
        let bodies = try await all(5) { _ in try await site.get() }
        #expect(Set(bodies).count == 5 && site.count == 5)
        _ = try await all(5) { _ in try await site.get() }
        #expect(later.withLock { $0 } == 5 && !isAlone.withLock { $0 }, "They go at once, not one behind another.")
    }

    @Test func aCancelledLeaderFailsNoOtherLoad() async throws {
        let site = try await Site { _, number throws(LoadError) in
            if number == 1 { try? await Task.sleep(for: .seconds(20)) }
            if Task.isCancelled { throw LoadError.cancelled() }
            return .fresh()
        }
        let leader = Task { try await site.get() }
        #expect(try await eventually { site.count == 1 })
        let follower = Task { try await site.get() }
        try await Task.sleep(for: .milliseconds(20))
        leader.cancel()
        #expect(try await follower.value == "2")
        await #expect(throws: LoadError(.cancelled, "")) { try await leader.value }
    }

    @Test func aFailedLeaderFailsNoOtherLoad() async throws {
        let site = try await Site { _, number throws(LoadError) in
            try? await Task.sleep(for: .milliseconds(30))
            if number == 1 { throw LoadError(.connectionLost, at: .response, "gone") }
            return .fresh()
        }
        let results = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<5 { group.addTask { (try? await site.get()) != nil } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.filter { !$0 }.count == 1)
        #expect(site.count == 2)
    }

    /// The first leader fails late. The second one is not answered before the last load is sent, which follows both.
    @Test func theTimeOfALoadIsForAllThatItFollows() async throws {
        let head = Duration.seconds(3)
        let (failed, gaveUp) = (Lock<ContinuousClock.Instant?>(nil), Lock<ContinuousClock.Instant?>(nil))
        let patience = Flight.Patience(head: head, body: .seconds(1))
        let site = try await Site(patience: patience) { _, number throws(LoadError) in
            switch number {
            case 1:
                try? await Task.sleep(for: .seconds(2))
                failed.withLock { $0 = .now }
                throw LoadError(.connectionLost, at: .response, "gone")
            case 2: _ = try? await eventually(within: .seconds(15)) { gaveUp.withLock { $0 != nil } }
            default: gaveUp.withLock { $0 = .now }
            }
            return .fresh()
        }
        let leader = Task { try await site.get() }
        #expect(try await eventually { site.count == 1 })
        _ = try await all(2) { _ in try await site.get() }
        await #expect(throws: LoadError(.connectionLost, "")) { try await leader.value }
        let (failure, end) = (try #require(failed.withLock { $0 }), try #require(gaveUp.withLock { $0 }))
        #expect(failure.duration(to: end) < head, "A time for each flight would begin at the failure.")
    }

    /// A leader whose app does not read delays no other load.
    @Test func aLeaderThatDoesNotReadIsLeftBehind() async throws {
        let site = try await Site(patience: .init(head: .seconds(5), body: .milliseconds(50))) { _, _ in .fresh() }
        let unread = try await site.response(to: site.request())
        #expect(try await site.get() == "2")
        unread.body.discard()
    }

    @Test func aFollowerThatIsCancelledLeaves() async throws {
        let site = try await Site { _, _ in
            try? await Task.sleep(for: .seconds(20))
            return .fresh()
        }
        let leader = Task { try await site.get() }
        #expect(try await eventually { site.count == 1 })
        let follower = Task { try await site.get() }
        try await Task.sleep(for: .milliseconds(20))
        follower.cancel()
        await #expect(throws: LoadError(.cancelled, "")) { try await follower.value }
        leader.cancel()
        _ = await leader.result
    }

    @Test func oneOfManyValidates() async throws {
        let site = try await Site { request, _ in
            try? await Task.sleep(for: .milliseconds(50))
            return request.headerFields.contains(.ifNoneMatch)
                ? Answer(304, ["ETag": "\"a\"", "Cache-Control": "max-age=60"])
                : Answer(200, ["ETag": "\"a\"", "Cache-Control": "max-age=60"])
        }
        _ = try await site.get()
        site.clock.pass(100)
        #expect(try await all(10) { _ in try await site.get() } == Array(repeating: "1", count: 10))
        #expect(site.count == 2)
    }
}
