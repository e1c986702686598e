import Foundation
import Logging
import SallyportBase
import SallyportCore
import SallyportSecureStore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// A relay beside two control gateways that share a PostgreSQL.
@Suite(.timeLimit(.minutes(2))) struct FeedFleetTests {
    /// The second gateway's own folder.
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func administer(
        _ path: String, _ command: AdministrationCommand
    ) async throws -> AdministrationReply {
        try await AdministrationClient(data: path, protectedBy: .keyFile("\(path)/key")).perform(command)
    }

    /// Both gateways run, and the relay knows of both.
    private func withTwo(
        _ body: @Sendable (_ fixture: FeedFixture, _ second: GatewayData, _ path: String) async throws -> Void
    ) async throws {
        let path = folder.path
        try await FeedFixture.with { fixture in
            guard let fleet = fixture.control.data.fleet else { return }
            // What tells the fleet's gateways apart lies in each one's own store.
            let own = try await SecureStore.open(
                at: folder.file("own"), protectedBy: .keyFile(folder.file("own.key")), options: StoreOptions())
            try await GatewayData.join(fleet.membership, own, name: "localhost", through: TestFleet.databases)
            let other = try await GatewayData.open(own, through: TestFleet.databases) { Date() }
            let gateway = Gateway(
                data: other, at: path, configuration: .patient,
                logger: Logger(label: "second") { _ in SwiftLogNoOpLogHandler() })
            let running = Task { try await gateway.run() }
            _ = try await gateway.listeners()
            #expect(try await eventually { await other.controls.count == 2 })
            _ = try await fixture.relay.tunnel(to: fixture.origin.port, as: fixture.identity)
            try await body(fixture, other, path)
            running.cancel()
            _ = try await running.value
        }
    }

    @Test func whatIsTakenAwayAtEitherIsInForceAtOnce() async throws {
        try await withTwo { fixture, _, path in
            let instance = try await fixture.instance()
            for round in 0..<6 {
                let tunnel = try await fixture.relay.tunnel(to: fixture.origin.port, as: fixture.identity)
                let data = round % 2 == 0 ? fixture.control.data.path : path
                var report: RelayReport?
                // The relay reports to the second one as soon as it has heard of it.
                let isInForce = try await eventually {
                    guard
                        case .atRelays(.done, let told) = try await administer(
                            data, .withdraw(instance: instance, .block))
                    else { return false }
                    report = told
                    return told.inForce == 1
                }
                #expect(isInForce, "\(String(describing: report))")
                #expect(try await eventually(within: Soak.second) { !tunnel.isOpen })
                #expect(try await administer(data, .withdraw(instance: instance, .unblock)) == .done)
            }
        }
    }

    @Test func anInstanceOfOneIsNotRefusedBecauseTheRelayHeardTheOther() async throws {
        try await withTwo { fixture, _, _ in
            for _ in 0..<10 {
                let identity = try await fixture.control.activated()
                let status = try await fixture.relay.connect(to: fixture.origin.port, as: identity).status
                #expect(status == 200, "\(fixture.relay.refusals.withLock { $0 })")
            }
        }
    }

    @Test func itGoesOnWithTheSecondWhenTheFirstIsGone() async throws {
        guard !TestFleet.isStandalone else { return }
        let path = folder.path
        let origin = try await TestOrigin(echoes: true)
        let data = try await DataFixture(standsStill: false)
        try await data.perform(.addServer(.init(endpoint: "127.0.0.1:\(origin.port)")))
        let identity = try await data.identity()
        let instance = try await data.data.presented(identity.certificates[0]).name.instance
        let quiet = Logger(label: "gateway") { _ in SwiftLogNoOpLogHandler() }
        let other = try await data.restarted()
        let first = Gateway(data: data.data, at: data.path, configuration: .patient, logger: quiet)
        let second = Gateway(data: other, at: path, configuration: .patient, logger: quiet)
        let runs = [first, second].map { gateway in Task { try await gateway.run() } }
        for gateway in [first, second] { _ = try await gateway.listeners() }
        let enrolled = try await EnrolledRelay.enrolled(at: data.data)
        #expect(try await eventually { await other.controls.count == 2 })
        // It may hear nothing for a while where the machine is busy.
        try await enrolled.run(lease: .seconds(6)) { relay in
            let tunnel = try await relay.tunnel(to: origin.port, as: identity)
            // Until the relay answers the second one, it does not know of it.
            let isKnown = try await eventually {
                guard case .relays(let relays) = try await administer(path, .listRelays) else { return false }
                return relays.first?.applied ?? 0 > 0
            }
            #expect(isKnown)
            runs[0].cancel()
            _ = try await runs[0].value
            // For longer than the lease.
            let end = ContinuousClock.now + .seconds(9)
            while ContinuousClock.now < end {
                tunnel.send("still")
                #expect(try await tunnel.read(5) == Array("still".utf8))
            }
            let reply = try await administer(path, .withdraw(instance: instance.description, .lock))
            guard case .atRelays(.done, let report) = reply else { throw TestFailure("\(reply)") }
            #expect(report.inForce == 1)
            #expect(try await eventually(within: Soak.second) { !tunnel.isOpen })
        }
        runs[1].cancel()
        _ = try await runs[1].value
        try await origin.close()
    }
}
