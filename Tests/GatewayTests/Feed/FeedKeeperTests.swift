import Logging
import SallyportBase
import SallyportSecureStore
import TestSupport
import Testing

@testable import SallyportGateway

/// What a relay has of the feed after a restart.
@Suite(.timeLimit(.minutes(2))) struct FeedKeeperTests {
    /// A store that takes nothing while its disk is full.
    private final class Disk: Sendable {
        let isFull = Lock(false)
        let written = Lock<[FeedKeeper.Content]>([])

        func write(_ content: FeedKeeper.Content) throws {
            if isFull.withLock({ $0 }) { throw StoreError(.full, "No room.") }
            written.withLock { $0.append(content) }
        }
    }

    private let disk = Disk()
    private let log = LogRecorder()
    private let before = FeedKeeper.Content(revision: 499, trust: [[1]], controls: ["a:1"])

    private func keeper() -> FeedKeeper {
        let (disk, log) = (disk, log)
        let logger = Logger(label: "relay") { _ in RecordingLogHandler(recorder: log) }
        return FeedKeeper(before, logger: logger) { try disk.write($0) }
    }

    @Test func whatTheStoreDidNotTakeIsWrittenOnceItTakesIt() async {
        let keeper = keeper()
        let lock = FeedKeeper.Content(revision: 500, trust: [[1]], controls: ["a:1"])
        disk.isFull.withLock { $0 = true }
        await keeper.keep(lock)
        await keeper.keep(lock)
        #expect(disk.written.withLock { $0 }.isEmpty)
        disk.isFull.withLock { $0 = false }
        await keeper.keep(lock)
        #expect(disk.written.withLock { $0 } == [lock])
        let told = log.lines.map { $0.prefix(while: { $0 != "." }) }
        #expect(told == ["The relay's store cannot be written", "The relay's store is written again"])
    }

    @Test func authoritiesAndGatewaysAreKeptWithoutAHigherRevision() async {
        let keeper = keeper()
        let announced = FeedKeeper.Content(revision: 499, trust: [[1], [2]], controls: ["a:1"])
        let joined = FeedKeeper.Content(revision: 499, trust: [[1], [2]], controls: ["a:1", "b:1"])
        for content in [before, announced, announced, joined] { await keeper.keep(content) }
        #expect(disk.written.withLock { $0 } == [announced, joined])
    }

    @Test func aRelayThatHasEndedKnowsWhatItHasFollowed() async throws {
        let data = try await DataFixture(standsStill: false)
        let reached = Lock<Int64>(0)
        try await ControlFixture.with(data, patience: .relaysAnswer) { _ in
            let enrolled = try await EnrolledRelay.enrolled(at: data.data)
            try await enrolled.run { _ in
                _ = await data.data.perform(.authority(.rotate))
                let isInForce = try await eventually {
                    let newest = await data.data.followed
                    reached.withLock { $0 = newest }
                    let reply = try await AdministrationClient(
                        data: data.path, protectedBy: .keyFile("\(data.path)/key")
                    ).perform(.listRelays)
                    guard case .relays(let relays) = reply else { return false }
                    return relays.first?.applied ?? 0 >= newest
                }
                #expect(isInForce)
            }
            let store = try await GatewayDirectory.openRelay(
                enrolled.path, protectedBy: KeyFileProtector.keyFile("\(enrolled.path)/key"))
            defer { store.close() }
            #expect(try store.revision() >= reached.withLock { $0 })
            let membership = try #require(try store.membership())
            #expect(membership.trust.count == 2 && membership.trust != enrolled.membership.trust)
            #expect(await membership.controls == data.data.controls)
        }
    }
}
