import Dispatch
import SallyportBase
import TestSupport
import Testing

@testable import SallyportCookies
@testable import SallyportSecureStore

/// How the changes of a jar are collected and written.
@Suite(.timeLimit(.minutes(1))) struct CookieWritingTests {
    private static let site = "https://www.example.com/"

    /// The test holds the store's writer, as a slow disk would.
    @Test func oneWriteOfAJarIsUnderWayHoweverSlowTheDiskIs() async throws {
        let fixture = try await JarFixture()
        let (store, jar) = (fixture.store, fixture.jar(delay: .zero))
        try await jar.load()
        // Behind it nothing is left of the opening.
        try await store.write { _ in }
        let writer = try #require(store.writer)
        let before = writer.counts.parts
        let (hasTurn, mayEnd) = (Signal(), DispatchSemaphore(value: 0))
        async let disk: Void = store.write { _ in
            hasTurn.fire()
            mayEnd.wait()
        }
        await hasTurn.wait()
        try await jar.take("first=v; Max-Age=100", at: Self.site)
        #expect(try await eventually { writer.waiting == 1 })
        // Otherwise the next change would begin another write.
        #expect(jar.state.withLock { $0.isWriteDue })
        for number in 0..<20 { try await jar.take("n\(number)=v; Max-Age=100", at: Self.site) }
        mayEnd.signal()
        try await disk
        #expect(try await eventually { jar.state.withLock { $0.pending.isEmpty && !$0.isWriteDue } })
        #expect(writer.counts.parts == before + 3, "the test's own, the first cookie's, and one for all others")
        #expect(try CookieStorage(store, jar: nil).load().records.count == 21)
        store.close()
    }

    @Test func aWriteThatFailedLetsTheNextChangeBeginAnother() async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar(delay: .zero)
        try await jar.load()
        fixture.store.close()
        for number in 1...2 {
            try await jar.take("n\(number)=v; Max-Age=100", at: Self.site)
            #expect(try await eventually { jar.state.withLock { !$0.isWriteDue } })
            #expect(jar.state.withLock { $0.pending.count } == number)
        }
    }
}
