import Sallyport
import ServiceLifecycleTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct SallyportTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func withInstance(_ body: (Sallyport) async throws -> Void) async throws {
        let sallyport = try await Sallyport.open(
            store: folder.file("store"), protectedBy: .keyFile(folder.file("key")),
            application: .init("com.example.report", version: "1.0.0.0"))
        try await body(sallyport)
        await sallyport.shutdown()
    }

    @Test func beforeActivationEverythingThatNeedsAuthorizationIsRefused() async throws {
        try await withInstance { sallyport in
            await #expect(throws: AuthorizationError.self) { try await sallyport.authorize() }
            #expect(!sallyport.isSecureCommunicationEnabled)
            await #expect(throws: LoadError(.notAuthorized, "")) {
                try await sallyport.session.bytes(for: .get("https://a.example/"))
            }
            await #expect(throws: LoadError(.notAuthorized, "")) {
                try await sallyport.makeSession().bytes(for: .get("https://a.example/"))
            }
            #expect(throws: AccessDenied(.notAuthorized)) { try sallyport.store.read { _ in } }
        }
    }

    /// `sharedURLCache`: nil and another object are what stands there; the first one can be put back.
    @Test func theSharedCacheCanBeReplacedAndPutBack() async throws {
        try await withInstance { sallyport in
            let own = try #require(sallyport.cache)
            #expect(own.diskCapacity == 100 << 20 && own.maxCacheFileSize == 1 << 20 && own.memoryCapacity == 0)
            sallyport.cache = nil
            #expect(sallyport.cache == nil)
            let other = SecureCache(memoryCapacity: 1 << 20, diskCapacity: 1 << 20)
            sallyport.cache = other
            #expect(sallyport.cache === other)
            sallyport.cache = own
            #expect(sallyport.cache === own)
            await #expect(throws: AccessDenied(.notAuthorized)) { try await own.removeAll() }
        }
    }

    @Test func shuttingDownTwiceIsShuttingDownOnce() async throws {
        try await withInstance { sallyport in
            await sallyport.shutdown()
            await #expect(throws: LoadError.self) { try await sallyport.session.bytes(for: .get("https://a.example/")) }
        }
    }

    @Test func theStoreCanBeOpenedAgainAfterShutdown() async throws {
        try await withInstance { sallyport in
            await sallyport.shutdown()
            let again = try await Sallyport.open(store: folder.file("store"), protectedBy: .keyFile(folder.file("key")))
            await again.shutdown()
        }
    }

    @Test func gracefulShutdownEndsTheService() async throws {
        try await withInstance { sallyport in
            try await testGracefulShutdown { trigger in
                async let running: Void = sallyport.run()
                trigger.triggerGracefulShutdown()
                try await running
            }
        }
    }

    @Test func cancellationEndsTheService() async throws {
        try await withInstance { sallyport in
            let task = Task { try await sallyport.run() }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }
}
