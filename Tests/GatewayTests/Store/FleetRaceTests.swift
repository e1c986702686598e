import Foundation
import HashTreeCollections
import SallyportBase
import SallyportCore
import SallyportSecureStore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// Two gateways of a fleet, to which the same app turns at the same time. `SALLYPORT_TEST_RACES` says how often.
@Suite(.enabled(if: !TestFleet.isStandalone), .timeLimit(.minutes(10))) struct FleetRaceTests {
    private static let rounds =
        ProcessInfo.processInfo.environment["SALLYPORT_TEST_RACES"].flatMap(Int.init) ?? 20

    private let folder: TemporaryDirectory
    private let fixture: DataFixture
    private let other: GatewayData

    init() async throws {
        (folder, fixture) = (try TemporaryDirectory(), try await DataFixture())
        let (path, fleet) = (folder.file("other"), try #require(fixture.fleet))
        try await GatewayDirectory.recover(
            path, name: "localhost", database: fleet.membership.url, recoveryKey: fleet.membership.recoveryKey,
            protectedBy: .keyFile("\(path)/key"), through: TestFleet.databases)
        other = try await GatewayDirectory.open(
            path, protectedBy: .keyFile("\(path)/key"), through: TestFleet.databases)
    }

    @Test func ofTwoUsesOfOneAccessKeyOneWins() async throws {
        for round in 0..<Self.rounds {
            let link = try await fixture.link()
            let credentials = BasicCredentials(user: link.user, password: link.accessKey)
            @Sendable func use(at data: GatewayData, _ number: Int) async throws -> Bool {
                let request = try DataFixture.request()
                // Each from a source of its own, so that none is too fast.
                let source = [10, UInt8(round >> 8 & 255), UInt8(round & 255), UInt8(number)]
                do { _ = try await data.enroll(credentials, request: request, source: source) } catch let error
                    as GatewayError where error.code == .keyUsed
                {
                    return false
                }
                return true
            }
            async let first = use(at: fixture.data, 1)
            async let second = use(at: other, 2)
            let won = try await [first, second]
            #expect(won.filter { $0 }.count == 1, "\(round)")
        }
        try await fixture.data.refresh()
        try await other.refresh()
        #expect(await fixture.data.instances.count == Self.rounds)
        #expect(await other.instances.count == Self.rounds)
        await other.close()
    }

    @Test func whatIsRenewedAtOneIsNotRefusedAtTheOther() async throws {
        try await fixture.perform(.addServer(.init(endpoint: "a.example:443")))
        let target = try Endpoint("a.example:443")
        var der = try await fixture.chain(fixture.link(), DataFixture.request())[0]
        try await other.catchUp()
        let policy = await other.currentState()
        for round in 0..<Self.rounds {
            let presented = try await fixture.data.presented(der)
            let request = try DataFixture.request()
            async let renewed = fixture.data.reenroll(presented, request: request)
            let before = try await verdict(policy, der, target)
            der = try await renewed[0]
            let after = try await verdict(policy, der, target)
            #expect(before && after, "\(round)")
            await other.sawAtRelay(try policy.presented(der))
        }
        await other.close()
    }

    /// As a relay asks: once more after it has followed the store, if it was refused.
    private func verdict(_ policy: CurrentState, _ der: [UInt8], _ target: Endpoint) async throws -> Bool {
        let client = try #require(policy.client(presenting: der))
        if case .allowed = client.decide(target) { return true }
        #expect(await client.catchUp())
        if case .allowed = client.decide(target) { return true }
        return false
    }
}
