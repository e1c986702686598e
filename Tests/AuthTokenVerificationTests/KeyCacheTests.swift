import Crypto
import SallyportBase
import SallyportWire
import TestSupport
import Testing

@testable import SallyportAuthTokenVerification

/// Published keys: rotated, kept, and fetched a bounded number of times.
@Suite(.timeLimit(.minutes(1))) struct KeyCacheTests {
    @Test func aRotatedKeyIsFetchedWhenATokenNamesIt() async throws {
        let issuer = Issuer()
        let verifier = issuer.verifier()
        _ = try await verifier.verify(issuer.token(), for: .ann())
        issuer.state.withLock { $0.keys["k2"] = P256.Signing.PrivateKey() }
        issuer.advance(10)
        _ = try await verifier.verify(issuer.token(by: "k2"), for: .ann())
        #expect(issuer.fetches == 2)
        // With overlap: the old one still counts, and one that is gone does not once that is known.
        _ = try await verifier.verify(issuer.token(), for: .ann())
        let old = try issuer.token { $0.expires += 10_000 }
        issuer.state.withLock { $0.keys["k1"] = nil }
        issuer.advance(600)
        await #expect(throws: AuthTokenVerificationError.of(.malformed)) { try await verifier.verify(old, for: .ann()) }
        #expect(issuer.fetches == 3)
    }

    /// Tokens with unknown keys must not cause a request each.
    @Test func unknownKeysAreLookedForOnceInTenSeconds() async throws {
        let issuer = Issuer()
        let verifier = issuer.verifier()
        _ = try await verifier.verify(issuer.token(), for: .ann())
        for second in 0..<30 {
            for _ in 0..<5 {
                let text = try SignedAuthToken.sign(issuer.claims(), with: .init(), keyID: "unknown")
                await #expect(throws: AuthTokenVerificationError.of(.malformed)) {
                    try await verifier.verify(text, for: .ann())
                }
            }
            #expect(issuer.fetches == 1 + second / 10)
            issuer.advance(1)
        }
    }

    @Test func theLastKeysCountForADayWhileTheGatewayIsDown() async throws {
        let issuer = Issuer()
        let verifier = issuer.verifier()
        _ = try await verifier.verify(issuer.token(), for: .ann())
        issuer.state.withLock { $0.isDown = true }
        issuer.advance(700)
        for _ in 0..<5 { _ = try await verifier.verify(issuer.token(), for: .ann()) }
        #expect(issuer.fetches == 2)
        issuer.advance(86_400)
        let text = try issuer.token()
        await #expect(throws: AuthTokenVerificationError.of(.unavailable)) {
            try await verifier.verify(text, for: .ann())
        }
        await #expect(throws: AuthTokenVerificationError.of(.unavailable)) {
            try await verifier.verify(text, for: .ann())
        }
        #expect(issuer.fetches == 3)
        issuer.state.withLock { $0.isDown = false }
        issuer.advance(10)
        _ = try await verifier.verify(text, for: .ann())
    }

    /// It may have been published since: the token is not refused for good.
    @Test func anUnknownKeyIsUnavailableWhileTheGatewayIsDown() async throws {
        let issuer = Issuer()
        let verifier = issuer.verifier()
        _ = try await verifier.verify(issuer.token(), for: .ann())
        issuer.state.withLock {
            $0.keys["k2"] = P256.Signing.PrivateKey()
            $0.isDown = true
        }
        issuer.advance(10)
        let text = try issuer.token(by: "k2")
        for _ in 0..<3 {
            await #expect(throws: AuthTokenVerificationError.of(.unavailable)) {
                try await verifier.verify(text, for: .ann())
            }
        }
        #expect(issuer.fetches == 2)
        issuer.state.withLock { $0.isDown = false }
        issuer.advance(10)
        _ = try await verifier.verify(text, for: .ann())
    }

    @Test(arguments: ["", "{}", #"{"keys":[{"kty":"EC"}]}"#, "<html>"])
    func aDocumentThatIsNoneChangesNothing(_ document: String) async throws {
        let issuer = Issuer()
        issuer.state.withLock { $0.document = Array(document.utf8) }
        let verifier = issuer.verifier()
        let text = try issuer.token()
        // Of a set that holds no key that counts, none is known.
        let isSet = document.hasPrefix(#"{"keys""#)
        await #expect(throws: AuthTokenVerificationError.of(isSet ? .malformed : .unavailable)) {
            try await verifier.verify(text, for: .ann())
        }
        issuer.state.withLock { $0.document = nil }
        issuer.advance(10)
        _ = try await verifier.verify(text, for: .ann())
        issuer.state.withLock { $0.document = Array(document.utf8) }
        issuer.advance(600)
        if !isSet { _ = try await verifier.verify(issuer.token(), for: .ann()) }
    }

    @Test func allThatWaitShareOneFetch() async throws {
        let issuer = Issuer()
        let verifier = issuer.verifier()
        let text = try issuer.token()
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<50 { group.addTask { (try? await verifier.verify(text, for: .ann())) != nil } }
            for await isAccepted in group { #expect(isAccepted) }
        }
        #expect(issuer.fetches == 1)
    }

    /// Nothing is known of an age that is negative.
    @Test func aClockThatWasTurnedBackMakesKeysOld() async throws {
        let issuer = Issuer()
        let verifier = issuer.verifier()
        _ = try await verifier.verify(issuer.token(), for: .ann())
        issuer.advance(-1)
        for _ in 0..<3 { _ = try await verifier.verify(issuer.token(), for: .ann()) }
        #expect(issuer.fetches == 2)
    }

    @Test func aClockThatWasTurnedBackTakesNoKeysWhileTheGatewayIsDown() async throws {
        let issuer = Issuer()
        let verifier = issuer.verifier()
        _ = try await verifier.verify(issuer.token(), for: .ann())
        issuer.state.withLock { $0.isDown = true }
        issuer.advance(-86_400)
        for _ in 0..<3 { _ = try await verifier.verify(issuer.token(), for: .ann()) }
        #expect(issuer.fetches == 2)
        // It is asked again soon, and the keys count for a day from then on, not for two.
        issuer.advance(10)
        _ = try await verifier.verify(issuer.token(), for: .ann())
        #expect(issuer.fetches == 3)
        issuer.advance(86_400)
        let text = try issuer.token()
        await #expect(throws: AuthTokenVerificationError.of(.unavailable)) {
            try await verifier.verify(text, for: .ann())
        }
    }

    @Test func fixedKeysComeFromAFile() async throws {
        let issuer = Issuer()
        let document = try await issuer.fetchKeys()
        let keys = PublishedKeys(from: FixedKeys(document), clock: issuer.clock)
        let verifier = AuthTokenVerifier(keys: keys, issuer: Issuer.name)
        _ = try await verifier.verify(issuer.token(), for: .ann())
    }

    /// The fetch is none of its own: those that wait with it go on.
    @Test func aCancelledTaskFailsNoOtherWaiter() async throws {
        let (issuer, source) = (Issuer(), HeldSource())
        let keys = PublishedKeys(from: source, clock: issuer.clock)
        let verifier = AuthTokenVerifier(keys: keys, issuer: Issuer.name)
        let text = try issuer.token()
        let first = Task { await Self.verdict(verifier, text) }
        await source.waitUntilAsked()
        let second = Task { await Self.verdict(verifier, text) }
        #expect(try await Self.wait(at: keys, 2))
        first.cancel()
        #expect(await first.value == .cancelled)
        await source.answer(try issuer.fetchKeys())
        #expect(await second.value == nil)
        #expect(await source.asked == 1)
    }

    /// A source that is slower than its callers are patient is not asked by each of them.
    @Test func aFetchGoesOnWhenAllThatWaitAreCancelled() async throws {
        let (issuer, source) = (Issuer(), HeldSource())
        let verifier = AuthTokenVerifier(keys: PublishedKeys(from: source, clock: issuer.clock), issuer: Issuer.name)
        let text = try issuer.token()
        for _ in 0..<5 {
            let task = Task { await Self.verdict(verifier, text) }
            await source.waitUntilAsked()
            task.cancel()
            #expect(await task.value == .cancelled)
        }
        await source.answer(try issuer.fetchKeys())
        #expect(await Self.verdict(verifier, text) == nil)
        #expect(await source.asked == 1)
    }

    @Test func aFetchThatDoesNotEndIsCancelledAndCounts() async throws {
        let (issuer, source) = (Issuer(), HeldSource())
        let keys = PublishedKeys(from: source, patience: .milliseconds(500), clock: issuer.clock)
        let verifier = AuthTokenVerifier(keys: keys, issuer: Issuer.name)
        let text = try issuer.token()
        for _ in 0..<3 { #expect(await Self.verdict(verifier, text) == .unavailable) }
        #expect(await source.asked == 1)
        await source.answer(try issuer.fetchKeys())
        issuer.advance(KeyCache.pause)
        #expect(await Self.verdict(verifier, text) == nil)
    }

    @Test func aFetchEndsWithThoseWhoseItIs() async throws {
        let (issuer, source) = (Issuer(), HeldSource())
        do {
            let keys = PublishedKeys(from: source, clock: issuer.clock)
            let verifier = AuthTokenVerifier(keys: keys, issuer: Issuer.name)
            let text = try issuer.token()
            let task = Task { await Self.verdict(verifier, text) }
            await source.waitUntilAsked()
            task.cancel()
            #expect(await task.value == .cancelled)
        }
        #expect(try await eventually { await source.isCancelled })
    }

    /// It ends at once, while the source has yet to answer, and those that wait beside it go on.
    @Test func waitingForAFetchCanBeCancelled() async throws {
        let (issuer, source) = (Issuer(), HeldSource())
        let keys = PublishedKeys(from: source, clock: issuer.clock)
        let verifier = AuthTokenVerifier(keys: keys, issuer: Issuer.name)
        let text = try issuer.token()
        let tasks = (0..<3).map { _ in Task { await Self.verdict(verifier, text) } }
        await source.waitUntilAsked()
        let ended = Lock(0)
        func verdict() async -> AuthTokenVerificationError.Code? {
            let verdict = await Self.verdict(verifier, text)
            ended.withLock { $0 += 1 }
            return verdict
        }
        let waiting = Task { await verdict() }
        #expect(try await Self.wait(at: keys, 4))
        waiting.cancel()
        // One that was cancelled before does not begin to wait.
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await verdict()
        }
        #expect(try await eventually { ended.withLock { $0 } == 2 })
        #expect(try await Self.wait(at: keys, 3))
        await source.answer(try issuer.fetchKeys())
        for task in [waiting, late] { #expect(await task.value == .cancelled) }
        for task in tasks { #expect(await task.value == nil) }
    }

    @Test func oneMoreThanMayWaitIsTurnedAway() async throws {
        let (issuer, source) = (Issuer(), HeldSource())
        let keys = PublishedKeys(from: source, maximumWaiters: 3, clock: issuer.clock)
        let verifier = AuthTokenVerifier(keys: keys, issuer: Issuer.name)
        let text = try issuer.token()
        try await withThrowingTaskGroup(of: AuthTokenVerificationError.Code?.self) { group in
            // Three wait, one too many is told first.
            for _ in 0..<4 { group.addTask { await Self.verdict(verifier, text) } }
            #expect(try await group.next() == .unavailable)
            await source.answer(try issuer.fetchKeys())
            for try await code in group { #expect(code == nil) }
        }
    }

    /// Waits until `count` tasks wait for a fetch, at most 10 s.
    private static func wait(at keys: PublishedKeys, _ count: Int) async throws -> Bool {
        let end = ContinuousClock.now + .seconds(10)
        while await keys.waiting != count {
            guard ContinuousClock.now < end else { return false }
            try await Task.sleep(for: .milliseconds(5))
        }
        return true
    }

    /// Nil where the token is accepted.
    private static func verdict(
        _ verifier: AuthTokenVerifier, _ text: String
    ) async -> AuthTokenVerificationError.Code? {
        do throws(AuthTokenVerificationError) {
            _ = try await verifier.verify(text, for: .ann())
            return nil
        } catch { return error.code }
    }
}

/// Answers when it is told to; throws where the task is cancelled before.
actor HeldSource: AuthTokenKeySource {
    private var document: [UInt8]?
    private(set) var asked = 0
    private(set) var isCancelled = false

    func fetchKeys() async throws -> [UInt8] {
        asked += 1
        defer { if Task.isCancelled { isCancelled = true } }
        while document == nil { try await Task.sleep(for: .milliseconds(1)) }
        return document ?? []
    }

    func waitUntilAsked() async { while asked == 0 { try? await Task.sleep(for: .milliseconds(1)) } }
    func answer(_ document: [UInt8]) { self.document = document }
}
