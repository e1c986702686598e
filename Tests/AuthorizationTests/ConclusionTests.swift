import Dispatch
import FoundationEssentials
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportSecureStore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportAuthorization

/// In which order a conclusion about access is stored, carried out and published.
@Suite(.timeLimit(.minutes(1))) struct ConclusionTests {
    private func say(_ status: ConfigurationDocument.Status, _ code: ResultCode, through gateway: FakeGateway) {
        gateway.change { document in
            document.status = status
            document.code = code
        }
    }

    /// A process that is ended while an observer takes its time must find the withdrawal when it starts again.
    @Test func aWithdrawalIsStoredBeforeObserversAreAwaited() async throws {
        let fixture = try Fixture()
        let (authorization, store) = try await fixture.activated()
        let stored = Lock<[AuthorizationState]>([])
        let clock = fixture.clock
        let observation = authorization.onAccessChange(awaiting: { _ in
            let state = try? StoredAuthorization.read(from: store, clock: clock).state
            stored.withLock { $0.append(state ?? .notAuthorized) }
        })
        say(.locked, .remoteLockout, through: fixture.gateway)
        _ = try? await authorization.authorize()
        #expect(stored.withLock { $0 } == [.locked(.remoteLockout)])
        withExtendedLifetime(observation) {}
    }

    @Test func aWithdrawalThatCannotBeStoredIsCarriedOutAndPublished() async throws {
        let fixture = try Fixture()
        let (_, store) = try await fixture.activated()
        store.close()
        var options = StoreOptions()
        options.isReadOnly = true
        let authorization = try await fixture.authorization(on: fixture.store(options))
        try await authorization.authorize()
        let seen = Lock<[Access]>([])
        let observation = authorization.onAccessChange(awaiting: { change in seen.withLock { $0.append(change.to) } })
        say(.blocked, .blocked, through: fixture.gateway)
        _ = try? await authorization.authorize()
        #expect(seen.withLock { $0 } == [.withdrawn(.blocked)])
        #expect(authorization.state == .locked(.blocked))
        withExtendedLifetime(observation) {}
    }

    // MARK: A store that is full, and has room later

    /// An activated app's store of 1 MiB, most of which ballast takes.
    private struct CrowdedStore {
        let authorization: Authorization
        let store: SecureStore
        private let ballast: StoreCollection<String, [UInt8]>

        init(_ fixture: Fixture) async throws {
            var options = StoreOptions()
            options.maximumSize = 1 << 20
            let store = try await fixture.store(options)
            let ballast: StoreCollection<String, [UInt8]> = store.collection("ballast", of: [UInt8].self)
            (self.store, self.ballast) = (store, ballast)
            authorization = try fixture.authorization(on: store)
            try await authorization.activate(link: fixture.gateway.link())
            try await store.write { try $0.set([UInt8](repeating: 7, count: 640 << 10), for: "large", in: ballast) }
        }

        func makeRoom() async throws {
            let ballast = ballast
            try await store.write { try $0.removeAll(from: ballast) }
            // The store uses the freed pages again after the next commit.
            for _ in 0..<2 { try await store.write { try $0.set([1], for: "small", in: ballast) } }
        }
    }

    /// From now on the gateway gives no configuration. Its event stream stays open.
    private func silence(_ gateway: FakeGateway) {
        gateway.state.withLock { state in
            state.stream = BodyPipe()
            state.holds[ControlAPI.Path.configuration] = { _ = try? await Task.sleep(for: .seconds(3600)) }
        }
    }

    /// The gateway does not answer any more when there is room.
    @Test func aWithdrawalThatCouldNotBeStoredIsStoredOnceThereIsRoom() async throws {
        let mayRetry = Signal()
        let fixture = try Fixture(clock: TestClock(lasts: true, mayRetry: mayRetry))
        let crowded = try await CrowdedStore(fixture)
        let (authorization, store, clock) = (crowded.authorization, crowded.store, fixture.clock)
        // In base64 it is larger than the 384 KiB that the ballast leaves, and smaller than the ballast.
        let filler = JSONValue.object(["filler": .string(String(repeating: "x", count: 340 << 10))])
        fixture.gateway.change { $0.policy = filler }
        say(.blocked, .blocked, through: fixture.gateway)
        _ = try? await authorization.authorize()
        #expect(authorization.state == .locked(.blocked))
        #expect(try StoredAuthorization.read(from: store, clock: clock).state == .authorized)
        let running = try await expectStored(.locked(.blocked), in: crowded, of: fixture, onceItMayBe: mayRetry)
        let report = "\(ControlAPI.Path.storedConfiguration)?stored=\(authorization.configuration.epoch ?? 0)"
        #expect(try await eventually { fixture.gateway.sent.contains { $0.target == report } })
        authorization.shutdown()
        await running.value
    }

    /// Runs the authorization, makes room in its store once it waits to try again, and expects the state to be stored.
    ///
    /// - Returns: what runs, until the authorization is shut down.
    private func expectStored(
        _ state: AuthorizationState, in crowded: CrowdedStore, of fixture: Fixture, onceItMayBe mayRetry: Signal
    ) async throws -> Task<Void, Never> {
        silence(fixture.gateway)
        let (authorization, store, clock) = (crowded.authorization, crowded.store, fixture.clock)
        let running = Task { await authorization.run() }
        #expect(try await eventually { clock.sleeps.contains { TestClock.retry.contains($0) } })
        try await crowded.makeRoom()
        mayRetry.fire()
        #expect(try await eventually { try StoredAuthorization.read(from: store, clock: clock).state == state })
        return running
    }

    /// A block of the app's own, which is stored with its lock, is what there is no room for.
    @Test func theAppsOwnLockThatCouldNotBeStoredIsStoredOnceThereIsRoom() async throws {
        let mayRetry = Signal()
        let fixture = try Fixture(clock: TestClock(lasts: true, mayRetry: mayRetry))
        let crowded = try await CrowdedStore(fixture)
        let (authorization, store, clock) = (crowded.authorization, crowded.store, fixture.clock)
        // 1,024 characters of 441 bytes: more than the 384 KiB that the ballast leaves, and less than the ballast.
        let character = "e" + String(repeating: "\u{301}", count: 220)
        let long = String(repeating: character, count: 1024)
        var events = authorization.events.makeAsyncIterator()
        let failure = await #expect(throws: AuthorizationError.self) {
            try await authorization.executeBlock(id: "long", title: "", message: long)
        }
        #expect(failure?.code == .store)
        let error = await #expect(throws: AuthorizationError.self) { try await authorization.executeRemoteLock() }
        #expect(error?.code == .store)
        #expect(authorization.state == .locked(.remoteLockout))
        // What could not be stored is told all the same.
        #expect(await events.next()?.code == .blocked)
        #expect(await events.next()?.code == .remoteLockout)
        #expect(try StoredAuthorization.read(from: store, clock: clock).state == .authorized)
        let running = try await expectStored(.locked(.remoteLockout), in: crowded, of: fixture, onceItMayBe: mayRetry)
        authorization.shutdown()
        await running.value
        #expect(try fixture.authorization(on: store).localBlocks.map(\.id) == ["long"])
    }

    /// A directory is no file that a wipe could overwrite.
    @Test func aWipeThatFailedIsFinishedOnceItCanBe() async throws {
        let mayRetry = Signal()
        let fixture = try Fixture(clock: TestClock(lasts: true, mayRetry: mayRetry))
        let (authorization, store) = try await fixture.activated()
        let obstacle = "\(fixture.path)/store/keys.new"
        try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: false)
        say(.wiped, .wiped, through: fixture.gateway)
        _ = try? await authorization.authorize()
        #expect(authorization.state == .wiped(.wiped))
        let note = "\(fixture.path)/store/wiped"
        #expect(!FileManager.default.fileExists(atPath: note))
        let running = Task { await authorization.run() }
        #expect(try await eventually { fixture.clock.sleeps.contains { TestClock.retry.contains($0) } })
        try FileManager.default.removeItem(atPath: obstacle)
        mayRetry.fire()
        #expect(try await eventually { FileManager.default.fileExists(atPath: note) })
        authorization.shutdown()
        await running.value
        store.close()
    }

    /// The lock is what follows in the events if the block's end is not told.
    @Test func theEndOfABlockThatCannotBeStoredIsToldAllTheSame() async throws {
        let fixture = try Fixture()
        let (activated, store) = try await fixture.activated()
        try await activated.executeBlock(id: "a", title: "", message: "")
        store.close()
        var options = StoreOptions()
        options.isReadOnly = true
        let authorization = try await fixture.authorization(on: fixture.store(options))
        try await authorization.authorize()
        var events = authorization.events.makeAsyncIterator()
        let failure = await #expect(throws: AuthorizationError.self) { try await authorization.executeUnblock(id: "a") }
        #expect(failure?.code == .store)
        #expect(authorization.localBlocks.isEmpty)
        try? await authorization.executeRemoteLock()
        #expect(await events.next()?.kind == .authorized)
    }

    // MARK: Several conclusions at once

    /// An observer holds up the end of a block. Meanwhile the app locks itself, and waits for the store's writer. The
    /// end of the block, which is carried out now, is not published: access is withdrawn again.
    @Test func anOlderConclusionIsNotPublishedWhileANewerOneIsStored() async throws {
        let fixture = try Fixture()
        let (authorization, store) = try await fixture.activated()
        say(.blocked, .blocked, through: fixture.gateway)
        _ = try? await authorization.authorize()
        var events = authorization.events.makeAsyncIterator()
        let (hasOpened, mayGoOn, hasClosed) = (Signal(), Signal(), Signal())
        let slow = authorization.onAccessChange(awaiting: { change in
            guard change.ending == nil else { return }
            hasOpened.fire()
            await mayGoOn.wait()
        })
        let quick = authorization.onAccessChange { change in
            if change.to == .withdrawn(.remoteLockout) { hasClosed.fire() }
        }
        say(.active, .none, through: fixture.gateway)
        let older = Task { try await authorization.authorize() }
        await hasOpened.wait()
        let (hasTurn, mayEnd) = (Signal(), DispatchSemaphore(value: 0))
        async let writer: Void = store.write { _ in
            hasTurn.fire()
            mayEnd.wait()
        }
        await hasTurn.wait()
        let newer = Task { try await authorization.executeRemoteLock() }
        await hasClosed.wait()
        mayGoOn.fire()
        var turns = 0
        while authorization.state != .authorized && turns < 10_000 {
            turns += 1
            await Task.yield()
        }
        #expect(authorization.state == .locked(.blocked))
        mayEnd.signal()
        try await writer
        try await newer.value
        await #expect(throws: AuthorizationError.self) { try await older.value }
        #expect(await events.next()?.code == .remoteLockout)
        #expect(authorization.state == .locked(.remoteLockout))
        withExtendedLifetime((slow, quick)) {}
    }

    /// The second call uses the stored configuration, and waits for the first one, whose configuration is being stored.
    @Test func anAuthorizeThatIsCancelledWhileAnotherOneStoresIsNotReportedAsWithdrawn() async throws {
        let fixture = try Fixture()
        let (_, store) = try await fixture.activated()
        // As after a restart.
        let authorization = try fixture.authorization(on: store)
        let (hasTurn, mayEnd) = (Signal(), DispatchSemaphore(value: 0))
        async let writer: Void = store.write { _ in
            hasTurn.fire()
            mayEnd.wait()
        }
        await hasTurn.wait()
        let storing = Task { try await authorization.authorize() }
        #expect(try await eventually { await authorization.unstoredConclusions == 1 })
        fixture.gateway.state.withLock { $0.failure = .refused }
        let waiting = Task { try await authorization.authorize() }
        #expect(try await eventually { await authorization.conclusionWaiters.count == 1 })
        waiting.cancel()
        let error = await #expect(throws: AuthorizationError.self) { try await waiting.value }
        #expect(error?.code == .cancelled)
        mayEnd.signal()
        try await writer
        #expect(try await storing.value == .authorized)
    }
}
