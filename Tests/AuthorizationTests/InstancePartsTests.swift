import SallyportAuthorization
import SallyportBase
import SallyportCore
import SallyportSecureStore
import SallyportWire
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct InstancePartsTests {
    /// Writes down what it is told.
    private struct Part: InstancePart {
        let name: String
        let log: Lock<[String]>

        func withdrawn(_ change: AccessChange) async {
            await Task.yield()
            log.withLock { $0.append("\(name) \(change.destroysData ? "wiped" : "locked")") }
        }
        func shutdown() async { log.withLock { $0.append("\(name) ended") } }
    }

    private func report(
        _ status: ConfigurationDocument.Status, _ code: ResultCode, to authorization: Authorization, of fixture: Fixture
    ) async {
        fixture.gateway.change { document in
            document.status = status
            document.code = code
        }
        _ = try? await authorization.authorize()
    }

    /// A block drops no secret. When the call returns that learned of the withdrawal, the parts have been told.
    @Test func partsAreToldInOrderOfWhatDropsSecrets() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        let log = Lock<[String]>([])
        let parts = InstanceParts(of: authorization, [Part(name: "one", log: log), Part(name: "two", log: log)])
        await report(.blocked, .blocked, to: authorization, of: fixture)
        #expect(log.withLock { $0 }.isEmpty)
        await report(.locked, .remoteLockout, to: authorization, of: fixture)
        #expect(log.withLock { $0 } == ["one locked", "two locked"])
        await report(.wiped, .wiped, to: authorization, of: fixture)
        #expect(log.withLock { $0.suffix(2) } == ["one wiped", "two wiped"])
        withExtendedLifetime(parts) {}
    }

    @Test func partsThatAreLetGoOfAreToldNothing() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        let log = Lock<[String]>([])
        _ = InstanceParts(of: authorization, [Part(name: "one", log: log)])
        await report(.locked, .remoteLockout, to: authorization, of: fixture)
        #expect(log.withLock { $0 }.isEmpty)
    }

    @Test func partsEndInOrder() async throws {
        let fixture = try Fixture()
        let (authorization, store) = try await fixture.activated()
        let log = Lock<[String]>([])
        let parts = InstanceParts(of: authorization, [Part(name: "one", log: log), Part(name: "two", log: log)])
        async let running: Void = authorization.run()
        await parts.shutdown()
        await running
        #expect(log.withLock { $0 } == ["one ended", "two ended"])
        store.close()
    }
}
