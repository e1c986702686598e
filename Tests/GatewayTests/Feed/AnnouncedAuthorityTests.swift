import Crypto
import Foundation
import Logging
import SallyportCore
import SallyportSocketDiagnosis
import SallyportWire
import TestSupport
import Testing
import X509

@testable import SallyportGateway

/// What a relay and a guard say to a certificate of an authority that is announced, as far as they know. It may have come
/// into force since they had word.
@Suite(.timeLimit(.minutes(1))) struct AnnouncedAuthorityTests {
    private static func perform(_ action: AuthorityAction, at data: GatewayData) async throws {
        let reply = await data.perform(.authority(action))
        guard case .authority = reply else { throw TestFailure("\(reply)") }
    }

    /// With word for five minutes.
    private static func policy(of data: GatewayData) async -> FollowedPolicy {
        var lease = RelayLease(.seconds(300))
        lease.heard(at: .now)
        let gate = LeaseGate()
        gate.publish(lease)
        return FollowedPolicy(current: await data.currentState(), lease: gate)
    }

    /// An instance that was made by an authority which came into force while a gateway was cut off from its store.
    private struct Newcomer {
        let fixture: DataFixture
        /// That of the gateway that is cut off.
        let store: FaultyStore
        let data: GatewayData
        let policy: FollowedPolicy
        let certificate: [UInt8]

        init() async throws {
            fixture = try await DataFixture(standsStill: false)
            try await fixture.perform(.addServer(.init(endpoint: "a.example:443")))
            (store, data) = try await fixture.faulty()
            policy = await AnnouncedAuthorityTests.policy(of: data)
            try await AnnouncedAuthorityTests.perform(.rotate, at: fixture.data)
            try await data.catchUp()
            store.set(.fails)
            try await AnnouncedAuthorityTests.perform(.finish(confirmed: true), at: fixture.data)
            certificate = try await fixture.enrolled()
        }
    }

    @Test func aRelayWithoutWordDoesNotRefuseItForGood() async throws {
        let newcomer = try await Newcomer()
        let target = try Endpoint("a.example:443")
        let client = try #require(newcomer.policy.client(presenting: newcomer.certificate))
        #expect(client.decide(target) == .unknown && client.instanceInGoodStanding == nil && client.instance == nil)
        guard case .refused(_, _, 403) = client.reconsider(target) else { throw TestFailure("A tunnel would stay.") }
        #expect(await client.catchUp() == false)
        newcomer.store.set(nil)
        #expect(await client.catchUp())
        guard case .allowed = client.decide(target) else { throw TestFailure("It is not known.") }
        #expect(client.instanceInGoodStanding != nil)
        guard case .allowed = client.reconsider(target) else { throw TestFailure("A tunnel would end.") }
    }

    @Test func aGuardWithoutWordDoesNotRefuseItForGood() async throws {
        let newcomer = try await Newcomer()
        let relayGuard = try RelayGuard(
            policy: newcomer.policy, endingTunnelsAt: nil, maximumTunnels: 1, logger: Logger(label: "guard"))
        let question = GuardQuestion(
            ends: SocketEnds(local: SocketEnd(.v4(1), port: 1), remote: SocketEnd(.v4(2), port: 2)),
            target: try Endpoint("a.example:443"), certificate: newcomer.certificate)
        guard case .unavailable = await relayGuard.answer(question) else { throw TestFailure("It is judged.") }
        newcomer.store.set(nil)
        guard case .allowed = await relayGuard.answer(question) else { throw TestFailure("It is not known.") }
    }

    /// The relay knows all that there is: an authority that is not in force has issued no certificate by itself.
    @Test func beforeItIsInForceItsCertificatesOpenNothing() async throws {
        let fixture = try await DataFixture(standsStill: false)
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        try await fixture.perform(.addServer(.init(endpoint: "a.example:443")))
        try await Self.perform(.rotate, at: fixture.data)
        let next = try CertificateAuthority(#require(await fixture.data.authorities.record.next).identity)
        let key = Certificate.PublicKey(P256.Signing.PrivateKey().publicKey)
        let early = try next.instance(presented.name, key: key, now: Date())
        let policy = await Self.policy(of: fixture.data)
        let client = try #require(policy.client(presenting: early))
        #expect(await client.catchUp())
        #expect(try client.decide(Endpoint("a.example:443")) == .unknown)
        #expect(client.instanceInGoodStanding == nil)
    }

    @Test func aRelayKnowsFromTheFeedWhichAuthorityIsAnnounced() async throws {
        let newcomer = try await Newcomer()
        let (before, now) = (await newcomer.data.authorities, await newcomer.fixture.data.authorities)
        let mayBeAccepted = try [before, now].map {
            try FeedAuthorities($0).accepted().mayAccept(newcomer.certificate, at: Date())
        }
        #expect(mayBeAccepted == [true, false])
    }
}
