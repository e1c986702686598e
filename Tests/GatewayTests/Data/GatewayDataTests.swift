import Crypto
import Foundation
import SallyportBase
import SallyportCore
import SallyportSecureStore
import SallyportWire
import SwiftASN1
import TestSupport
import Testing
import X509

@testable import SallyportGateway

/// A gateway's data in a directory of its own, with a clock that the test moves.
final class DataFixture: Sendable {
    private let folder: TemporaryDirectory
    var path: String { folder.path }
    private let time = Lock(Date())
    /// The gateway's own.
    let store: SecureStore
    /// Nil for a gateway that stands alone.
    let fleet: TestFleet?
    let data: GatewayData

    /// - Parameters:
    ///   - standsStill: whether only the test moves the clock.
    ///   - isFaulty: whether the gateway has a ``FaultyStore``.
    init(standsStill: Bool = true, isFaulty: Bool = false) async throws {
        folder = try TemporaryDirectory()
        store = try await SecureStore.open(at: folder.path, protectedBy: .keyFile(folder.file("key")))
        fleet = try await TestFleet.ofThisRun()
        try await GatewayData.initialize(store, name: "localhost", in: fleet?.membership, through: TestFleet.databases)
        let clock: @Sendable () -> Date = { [time] in standsStill ? time.withLock { $0 } : Date() }
        let opened = try await GatewayData.open(store, through: TestFleet.databases, clock: clock)
        data =
            isFaulty
            ? try await GatewayData(FaultyStore(opened.store), own: OwnStore(store), clock: clock) : opened
        for command: AdministrationCommand in [
            .addUser("ann"), .addApplication(entitlement: "com.example.report", version: "1.0.0.0"),
            .addApplication(entitlement: "com.example.report", version: "2.0.0.0"),
            .entitle(user: "ann", entitlement: "com.example.report", version: "1.0.0.0"),
        ] {
            guard case .done = await data.perform(command) else { throw GatewayError(.invalid, "\(command)") }
        }
    }

    /// What a gateway that is started on the same data knows.
    func restarted(clock: @escaping @Sendable () -> Date = { Date() }) async throws -> GatewayData {
        try await GatewayData.open(store, through: TestFleet.databases, clock: clock)
    }

    var now: Date { time.withLock { $0 } }

    func advance(_ seconds: TimeInterval) { time.withLock { $0 += seconds } }

    func link() async throws -> ActivationLink {
        guard case .link(let text) = await data.perform(.issueKey(user: "ann", entitlement: "com.example.report"))
        else { throw GatewayError(.invalid, "no link") }
        return try ActivationLink(text)
    }

    static func request(_ key: P256.Signing.PrivateKey = .init()) throws -> [UInt8] {
        let request = try CertificateSigningRequest(
            version: .v1, subject: DistinguishedName { CommonName("anything") }, privateKey: .init(key),
            attributes: .init(), signatureAlgorithm: .ecdsaWithSHA256)
        var serializer = DER.Serializer()
        try serializer.serialize(request)
        return serializer.serializedBytes
    }

    func enroll(_ link: ActivationLink, _ request: [UInt8]) async throws -> PresentedCertificate {
        try await data.presented(chain(link, request)[0])
    }

    /// DER.
    func chain(
        _ link: ActivationLink, _ request: [UInt8], entitlement: String? = nil, version: String? = nil
    ) async throws -> [[UInt8]] {
        let credentials = BasicCredentials(user: link.user, password: link.accessKey)
        let application = EnrolledApplication(
            entitlement: entitlement.flatMap(EntitlementIdentifier.init),
            version: version.flatMap(EntitlementVersion.init))
        return try await data.enroll(credentials, for: application, request: request, source: [127, 0, 0, 1])
    }

    func document(_ presented: PresentedCertificate, version: String? = nil) async throws -> ConfigurationDocument {
        let text = try await data.configuration(for: presented, version: version.flatMap(EntitlementVersion.init))
        return try ConfigurationDocument(parsing: JWS(Array(text.utf8), type: ConfigurationDocument.type).payload)
    }

    func perform(_ command: AdministrationCommand) async throws {
        let reply = await data.perform(command)
        guard case .done = reply.result else { throw GatewayError(.invalid, "\(reply)") }
    }
}

extension GatewayData {
    /// Reads a certificate as the listeners do.
    func presented(_ der: [UInt8]) throws(GatewayError) -> PresentedCertificate {
        try authorities.instance(presented: der, now: clock())
    }
}

@Suite struct EnrolmentTests {
    @Test func anAccessKeyWorksOnceAndItsKeyAgainForTenMinutes() async throws {
        let fixture = try await DataFixture()
        let link = try await fixture.link()
        let request = try DataFixture.request()
        let first = try await fixture.enroll(link, request)
        #expect(first.name.entitlement.description == "com.example.report")
        #expect(try await fixture.enroll(link, request) == first)
        await #expect(throws: GatewayError.self) { try await fixture.enroll(link, DataFixture.request()) }
        fixture.advance(601)
        await #expect(throws: GatewayError.self) { try await fixture.enroll(link, request) }
    }

    @Test func ofTwoUsesAtOnceOneWins() async throws {
        let fixture = try await DataFixture()
        let link = try await fixture.link()
        // Nil where it was used.
        let refusals = await withTaskGroup(of: GatewayError.Code?.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    do { _ = try await fixture.enroll(link, DataFixture.request()) } catch {
                        return GatewayError(error).code
                    }
                    return nil
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(refusals.filter { $0 == nil }.count == 1)
        #expect(refusals.compactMap(\.self).allSatisfy { $0 == .keyUsed }, "\(refusals)")
        guard case .instances(let entries) = await fixture.data.perform(.listInstances) else { return }
        #expect(entries.count == 1)
    }

    @Test func anExpiredKeyIsRefused() async throws {
        let fixture = try await DataFixture()
        let (used, late) = (try await fixture.link(), try await fixture.link())
        fixture.advance(24 * 3600 - 1)
        _ = try await fixture.enroll(used, DataFixture.request())
        fixture.advance(1)
        await #expect(throws: GatewayError(.keyExpired, "")) { try await fixture.enroll(late, DataFixture.request()) }
    }

    @Test func oneWrongTryASecondIsAnsweredAndConsumesNothing() async throws {
        let fixture = try await DataFixture()
        let link = try await fixture.link()
        let wrong = BasicCredentials(user: link.user, password: Redacted("wrong"))
        let request = try DataFixture.request()
        func code(from source: [UInt8]) async -> GatewayError.Code? {
            let error = await #expect(throws: GatewayError.self) {
                try await fixture.data.enroll(wrong, request: request, source: source)
            }
            return error?.code
        }
        #expect(await code(from: [1]) == .unauthorized)
        #expect(await code(from: [1]) == .limited)
        #expect(await code(from: [2]) == .unauthorized)
        fixture.advance(1)
        #expect(await code(from: [1]) == .unauthorized)
        _ = try await fixture.enroll(link, request)
    }

    @Test func aUsedKeySaysSoUntilItIsForgotten() async throws {
        let fixture = try await DataFixture()
        let link = try await fixture.link()
        _ = try await fixture.enroll(link, DataFixture.request())
        for days in [0.0, 1, 28.9] {
            fixture.advance(days * 86_400)
            try await fixture.data.forgetOldKeys()
            await #expect(throws: GatewayError(.keyUsed, "")) { try await fixture.enroll(link, DataFixture.request()) }
        }
        fixture.advance(0.2 * 86_400)
        try await fixture.data.forgetOldKeys()
        await #expect(throws: GatewayError(.unauthorized, "")) {
            try await fixture.enroll(link, DataFixture.request())
        }
    }

    @Test(arguments: [[], [0x30, 0x00], Array("garbage".utf8)] as [[UInt8]])
    func aMalformedRequestConsumesNothing(_ request: [UInt8]) async throws {
        let fixture = try await DataFixture()
        let link = try await fixture.link()
        await #expect(throws: GatewayError.self) { try await fixture.enroll(link, request) }
        _ = try await fixture.enroll(link, DataFixture.request())
    }

    @Test func aRequestThatItsKeyDidNotSignIsRefused() async throws {
        let fixture = try await DataFixture()
        let link = try await fixture.link()
        var request = try DataFixture.request()
        request[request.count - 1] ^= 1
        let tampered = request
        await #expect(throws: GatewayError.self) { try await fixture.enroll(link, tampered) }
    }

    @Test func theUseOfARenewedCertificateRetiresTheOldOne() async throws {
        let fixture = try await DataFixture()
        let old = try await fixture.enroll(fixture.link(), DataFixture.request())
        let chain = try await fixture.data.reenroll(old, request: DataFixture.request())
        let new = try await fixture.data.presented(chain[0])
        #expect(new.serial != old.serial && new.name == old.name)
        _ = try await fixture.document(old)
        #expect(try await fixture.document(new).status == .active)
        let error = await #expect(throws: GatewayError.self) { try await fixture.document(old) }
        #expect(error?.code == .retired)
        // A connection that was made before the renewal may still ask; only renewal shows a copied store.
        #expect(try await fixture.document(new).status == .active)
    }

    @Test func renewalWithAReplacedCertificateLocks() async throws {
        let fixture = try await DataFixture()
        let old = try await fixture.enroll(fixture.link(), DataFixture.request())
        let chain = try await fixture.data.reenroll(old, request: DataFixture.request())
        let new = try await fixture.data.presented(chain[0])
        _ = try await fixture.document(new)
        let error = await #expect(throws: GatewayError.self) {
            try await fixture.data.reenroll(old, request: DataFixture.request())
        }
        #expect(error?.code == .locked)
        #expect(try await fixture.document(new).status == .locked)
    }

    /// As an app asks a second gateway while the first one has not answered.
    @Test func twoRenewalsWithOneKeyGetOneCertificate() async throws {
        let fixture = try await DataFixture()
        let old = try await fixture.enroll(fixture.link(), DataFixture.request())
        let request = try DataFixture.request()
        async let first = fixture.data.reenroll(old, request: request)
        async let second = fixture.data.reenroll(old, request: request)
        let chains = try await [first, second]
        #expect(chains[0] == chains[1])
        let new = try await fixture.data.presented(chains[0][0])
        #expect(try await fixture.document(new).status == .active)
        // The old certificate is retired now, but it is the same app that asks.
        #expect(try await fixture.data.reenroll(old, request: request) == chains[0])
        let again = try await fixture.restarted { fixture.now }
        #expect(try await again.reenroll(old, request: request) == chains[0])
        #expect(try await fixture.document(new).status == .active)
        await #expect(throws: GatewayError(.locked, "")) {
            try await fixture.data.reenroll(old, request: DataFixture.request())
        }
        #expect(try await fixture.document(new).status == .locked)
    }

    @Test func aRenewalByTheNewCertificateWithTheSameKeyIsAnotherOne() async throws {
        let fixture = try await DataFixture()
        let old = try await fixture.enroll(fixture.link(), DataFixture.request())
        let request = try DataFixture.request()
        let new = try await fixture.data.presented(fixture.data.reenroll(old, request: request)[0])
        let next = try await fixture.data.presented(fixture.data.reenroll(new, request: request)[0])
        #expect(next.serial != new.serial)
        #expect(try await fixture.document(next).status == .active)
    }

    @Test func aRenewalIsRepeatedForTenMinutes() async throws {
        let fixture = try await DataFixture()
        let old = try await fixture.enroll(fixture.link(), DataFixture.request())
        let request = try DataFixture.request()
        let first = try await fixture.data.reenroll(old, request: request)
        fixture.advance(601)
        let second = try await fixture.data.reenroll(old, request: request)
        #expect(second != first)
        #expect(try await fixture.document(fixture.data.presented(second[0])).status == .active)
    }

    @Test func theRelaysUseOfARenewedCertificateRetiresTheOldOne() async throws {
        let fixture = try await DataFixture()
        let first = try await fixture.chain(fixture.link(), DataFixture.request())
        let old = try await fixture.data.presented(first[0])
        let second = try await fixture.data.reenroll(old, request: DataFixture.request())
        try await fixture.perform(.addServer(.init(endpoint: "a.example:443")))
        let policy = await fixture.data.currentState()
        let clients = try [first[0], second[0]].map { try #require(policy.client(presenting: $0)) }
        let target = try Endpoint("a.example:443")
        for client in clients {
            guard case .allowed = client.decide(target) else {
                Issue.record("both are good until the new one was seen")
                return
            }
        }
        var renewals = policy.renewals.makeAsyncIterator()
        let seen = try #require(await renewals.next())
        #expect(try await seen == fixture.data.presented(second[0]))
        await fixture.data.sawAtRelay(seen)
        let snapshot = await fixture.data.relaySnapshot()
        guard case .refused = snapshot.judge(old, target: target).verdict,
            case .allowed = snapshot.judge(seen, target: target).verdict
        else {
            Issue.record("the old one is retired, the new one is not")
            return
        }
        #expect(!snapshot.judge(seen, target: target).isNew)
    }

    @Test func anExpiredCertificateRenewsForThirtyDays() async throws {
        let fixture = try await DataFixture()
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        fixture.advance(8 * 86_400)
        #expect(fixture.data.isExpired(presented))
        _ = try await fixture.data.reenroll(presented, request: DataFixture.request())
        fixture.advance(30 * 86_400)
        await #expect(throws: GatewayError.self) {
            try await fixture.data.reenroll(presented, request: DataFixture.request())
        }
    }
}

@Suite struct ConfigurationTests {
    @Test func everySigningHasAHigherEpoch() async throws {
        let fixture = try await DataFixture()
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        var last: Int64 = 0
        for _ in 0..<5 {
            let document = try await fixture.document(presented)
            #expect(document.epoch > last)
            #expect(document.aud == presented.name.instance)
            last = document.epoch
        }
        fixture.advance(-3600)
        #expect(try await fixture.document(presented).epoch == last + 1)
    }

    /// Fetches suspend while their epoch is made durable; a withdrawal in between must not be lost.
    @Test func aWithdrawalDuringFetchesStays() async throws {
        let fixture = try await DataFixture()
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let id = presented.name.instance.description
        for round in 0..<10 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 { group.addTask { _ = try await fixture.document(presented) } }
                group.addTask { try await fixture.perform(.withdraw(instance: id, round % 2 == 0 ? .block : .unblock)) }
                for _ in 0..<8 { group.addTask { _ = try await fixture.document(presented) } }
                try await group.waitForAll()
            }
            #expect(try await fixture.document(presented).status == (round % 2 == 0 ? .blocked : .active))
        }
    }

    @Test func twoCommandsAtOnceBothHold() async throws {
        let fixture = try await DataFixture()
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<16 { group.addTask { _ = await fixture.data.perform(.addUser("user\(index)")) } }
        }
        guard case .users(let users) = await fixture.data.perform(.listUsers) else { return }
        #expect(users.count == 17)
    }

    @Test func aWipedInstanceIsAnsweredForThirtyDays() async throws {
        let fixture = try await DataFixture()
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        try await fixture.perform(.withdraw(instance: presented.name.instance.description, .wipe))
        fixture.advance(30 * 86_400 - 1)
        #expect(try await fixture.document(presented).status == .wiped)
        fixture.advance(1)
        await #expect(throws: GatewayError.self) { try await fixture.document(presented) }
    }

    @Test func aDeniedInstanceIsAnsweredForThirtyDays() async throws {
        let fixture = try await DataFixture()
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        try await fixture.perform(
            .unentitle(user: "ann", entitlement: "com.example.report", version: "1.0.0.0", confirmed: true))
        fixture.advance(30 * 86_400 - 1)
        #expect(try await fixture.document(presented).status == .denied)
        fixture.advance(1)
        await #expect(throws: GatewayError.self) { try await fixture.document(presented) }
    }

    @Test func statusFollowsEntitlementVersionAndTheAdministrator() async throws {
        let fixture = try await DataFixture()
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let id = presented.name.instance.description
        #expect(try await fixture.document(presented).entitlement.version.description == "1.0.0.0")
        let other = try await fixture.document(presented, version: "2.0.0.0")
        #expect(other.status == .locked && other.code == .appVersionNotEntitled)
        #expect(try await fixture.document(presented, version: "1.0.0.0").status == .active)
        for (withdrawal, status, code) in [
            (AdministrationCommand.Withdrawal.block, ConfigurationDocument.Status.blocked, ResultCode.blocked),
            (.lock, .locked, .remoteLockout), (.lockIdle, .locked, .idleLockout),
            (.lockForPasswordChange, .locked, .passwordChangeRequired), (.lock, .locked, .remoteLockout),
            (.lockIdle, .locked, .idleLockout), (.unlock, .blocked, .blocked), (.lock, .locked, .remoteLockout),
            (.unlock, .blocked, .blocked), (.unblock, .active, .none),
        ] {
            try await fixture.perform(.withdraw(instance: id, withdrawal))
            let document = try await fixture.document(presented)
            #expect(document.status == status && document.code == code)
        }
        #expect(try await fixture.document(presented, version: "2.0.0.0").status == .locked)
        let unlock = AdministrationCommand.withdraw(instance: id, .unlock)
        #expect(
            await fixture.data.perform(unlock)
                == .warned(
                    .done, "It is still locked: its user is not entitled to its version 2.0.0.0, but to 1.0.0.0."))
        #expect(try await fixture.document(presented, version: "1.0.0.0").status == .active)
        #expect(await fixture.data.perform(unlock) == .done)
        let unentitle = AdministrationCommand.unentitle(
            user: "ann", entitlement: "com.example.report", version: "1.0.0.0", confirmed: false)
        guard case .needsConfirmation(let entries) = await fixture.data.perform(unentitle) else {
            Issue.record("an instance would be wiped")
            return
        }
        #expect(entries.map(\.instance) == [id])
        #expect(try await fixture.document(presented).status == .active)
        try await fixture.perform(
            .unentitle(user: "ann", entitlement: "com.example.report", version: "1.0.0.0", confirmed: true))
        let denied = try await fixture.document(presented)
        #expect(denied.status == .denied && denied.code == .appDenied)
        try await fixture.perform(.withdraw(instance: id, .wipe))
        #expect(try await fixture.document(presented).code == .wiped)
    }

    @Test func serversOfAnAppAreForThatAppOnly() async throws {
        let fixture = try await DataFixture()
        try await fixture.perform(.addApplication(entitlement: "com.example.other", version: "1"))
        try await fixture.perform(
            .addServer(.init(endpoint: "own.example:443", entitlement: "com.example.report", priority: 3)))
        try await fixture.perform(.addServer(.init(endpoint: "other.example:443", entitlement: "com.example.other")))
        try await fixture.perform(.addServer(.init(endpoint: "all.example:443", route: "direct")))
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let document = try await fixture.document(presented)
        #expect(document.servers.map(\.endpoint.description).sorted() == ["all.example:443", "own.example:443"])
        #expect(document.servers.first { $0.isApplicationServer }?.priority == 3)
        #expect(document.defaultRoute.route == .deny)
        #expect(document.clusters.map(\.name) == ["main"])
    }
}

@Suite struct VersionPaceTests {
    /// Each change of the version is a commit, and all tunnels of the fleet are judged anew.
    @Test func anInstanceThatNamesAnotherVersionEachTimeIsLimited() async throws {
        let fixture = try await DataFixture()
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        for round in 0..<21 {
            _ = try await fixture.document(presented, version: round % 2 == 0 ? "1.0.0.0" : "9.0.0.0")
        }
        let error = await #expect(throws: GatewayError.self) {
            try await fixture.document(presented, version: "9.0.0.0")
        }
        #expect(error?.code == .limited && error?.retryAfter == 10)
        #expect(try await fixture.document(presented, version: "1.0.0.0").status == .active)
        fixture.advance(10)
        #expect(try await fixture.document(presented, version: "9.0.0.0").code == .appVersionNotEntitled)
    }
}

@Suite struct RelayPolicyTests {
    /// The address of a server leads to loopback, where an app has to be listed itself.
    @Test func anAddressThatIsSetForOneAppsServerOpensNothingForAnother() async throws {
        let fixture = try await DataFixture()
        try await fixture.perform(.addApplication(entitlement: "com.example.other", version: "1.0.0.0"))
        let (report, name) = ("com.example.report", "in.example:443")
        try await fixture.perform(
            .addServer(.init(endpoint: name, entitlement: "com.example.other", address: "127.0.0.9")))
        try await fixture.perform(.addServer(.init(endpoint: name)))
        let chain = try await fixture.chain(fixture.link(), DataFixture.request())
        let presented = try await fixture.data.presented(chain[0])
        /// The address by which the relay reaches the server; nil if it looks it up, and refuses what is local.
        func address() async throws -> IPAddress? {
            let client = try #require(await fixture.data.currentState().client(presenting: chain[0]))
            guard case .allowed(_, let address, let mayBeLocal, _) = try client.decide(Endpoint(name)) else {
                throw TestFailure("the server is relayed")
            }
            #expect(mayBeLocal == (address != nil))
            return address
        }
        func named() async throws -> NameVerdict {
            try await fixture.data.currentState().judge(presented, name: Host("in.example"))
        }
        #expect(try await address() == nil)
        #expect(try await named() == .allowed)
        // The app's own entry counts instead of that for all, with its address and without one.
        try await fixture.perform(.addServer(.init(endpoint: name, address: "127.0.0.8")))
        #expect(try await address() == IPAddress("127.0.0.8"))
        try await fixture.perform(.addServer(.init(endpoint: name, entitlement: report, address: "127.0.0.7")))
        #expect(try await address() == IPAddress("127.0.0.7"))
        #expect(try await named() == .address(try #require(IPAddress("127.0.0.7"))))
        try await fixture.perform(.addServer(.init(endpoint: name, entitlement: report)))
        #expect(try await address() == nil)
    }

    /// Whatever their priorities, by which the app's servers are told in another order.
    @Test(arguments: [(1, 5), (5, 1)])
    func ofTwoEntriesForOneServerTheAppsOwnCountsInItsConfigurationToo(own: Int, all: Int) async throws {
        let fixture = try await DataFixture()
        let (report, name) = ("com.example.report", "in.example:443")
        try await fixture.perform(.addServer(.init(endpoint: name, priority: all, route: "direct")))
        try await fixture.perform(.addServer(.init(endpoint: name, entitlement: report, priority: own)))
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let table = try await fixture.document(presented).routingTable
        #expect(try table.decide(Endpoint(name)).route == .relay(cluster: "main"))
        try await fixture.perform(.addServer(.init(endpoint: name, priority: all, route: "deny")))
        let denied = try await fixture.document(presented).routingTable
        #expect(try denied.decide(Endpoint(name)).route == .deny)
    }

    /// A look-up has no port.
    @Test func aNameWithSeveralPortsHasTheAddressOfTheLowest() async throws {
        let fixture = try await DataFixture()
        for (port, address) in [(8443, "10.0.0.3"), (443, "10.0.0.1"), (4443, "10.0.0.2")] {
            try await fixture.perform(.addServer(.init(endpoint: "in.example:\(port)", address: address)))
        }
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let verdict = try await fixture.data.currentState().judge(presented, name: Host("in.example"))
        #expect(verdict == .address(try #require(IPAddress("10.0.0.1"))))
    }

    /// What only the default sends to the relay is where an app was led to, not what the administrator listed.
    @Test func theDefaultLeadsToNothingLocal() async throws {
        let fixture = try await DataFixture()
        try await fixture.perform(.setRoute(domain: "default", route: "relay", ports: [80, 443]))
        try await fixture.perform(.addServer(.init(endpoint: "127.0.0.1:8080")))
        let chain = try await fixture.chain(fixture.link(), DataFixture.request())
        let client = try #require(await fixture.data.currentState().client(presenting: chain[0]))
        for target in ["127.0.0.1:80", "127.1:443", "[::1]:80", "169.254.1.1:80", "localhost:80"] {
            guard case .allowed(_, nil, mayBeLocal: false, _) = try client.decide(Endpoint(target)) else {
                Issue.record("\(target) may be local")
                continue
            }
        }
        guard case .allowed(_, nil, mayBeLocal: true, _) = try client.decide(Endpoint("127.0.0.1:8080")) else {
            Issue.record("a listed address is reached")
            return
        }
    }

    /// The same rules are in the instance's configuration and at the relay.
    @Test func deniedAddressesHoldForTheInstanceAndAtTheRelay() async throws {
        let fixture = try await DataFixture()
        try await fixture.perform(.setRoute(domain: "default", route: "relay", ports: [80, 443]))
        try await fixture.perform(.setRoute(domain: "10.0.0.0/8", route: "deny", ports: nil))
        try await fixture.perform(.addServer(.init(endpoint: "10.1.1.1:443")))
        try await fixture.perform(.addServer(.init(endpoint: "192.0.2.9:443", route: "deny")))
        let chain = try await fixture.chain(fixture.link(), DataFixture.request())
        let document = try await fixture.document(fixture.data.presented(chain[0]))
        #expect(document.deniedNetworks.map(\.description) == ["10.0.0.0/8"])
        let client = try #require(await fixture.data.currentState().client(presenting: chain[0]))
        for target in ["10.1.1.1:443", "10.2.2.2:80", "[::ffff:10.0.0.1]:80", "192.0.2.9:443", "169.254.169.254:80"] {
            guard case .refused = try client.decide(Endpoint(target)) else {
                Issue.record("\(target) is denied")
                continue
            }
        }
        guard case .allowed(_, _, _, let rules) = try client.decide(Endpoint("a.example:443")) else {
            Issue.record("the default relays")
            return
        }
        #expect(rules == document.routingTable.addresses)
        #expect(rules.denial(of: .v4(0x0a09_0909), port: 443).map { "\($0)" } == "network 10.0.0.0/8")
        #expect(rules.denial(of: .v4(0xc000_0209), port: 443).map { "\($0)" } == "server 192.0.2.9:443")
        try await fixture.perform(.removeRoute(domain: "10.0.0.0/8"))
        let now = try #require(await fixture.data.currentState().client(presenting: chain[0]))
        guard case .allowed(_, _, _, let later) = try now.decide(Endpoint("a.example:443")) else {
            Issue.record("the default relays still")
            return
        }
        #expect(later.denial(of: .v4(0x0a09_0909), port: 443) == nil)
    }

    /// Here, and at those that follow the feed.
    @Test func theRelayJudgesAnUpdatedInstanceByItsNewVersion() async throws {
        let fixture = try await DataFixture()
        try await fixture.perform(.addServer(.init(endpoint: "a.example:443")))
        try await fixture.perform(.entitle(user: "ann", entitlement: "com.example.report", version: "2.0.0.0"))
        let chain = try await fixture.chain(fixture.link(), DataFixture.request())
        let presented = try await fixture.data.presented(chain[0])
        let client = try #require(await fixture.data.currentState().client(presenting: chain[0]))
        _ = try await fixture.document(presented, version: "1.0.0.0")
        let before = await fixture.data.followed
        _ = try await fixture.document(presented, version: "2.0.0.0")
        #expect(await fixture.data.followed == before + 1)
        guard case .some(.some(let told)) = await fixture.data.feed(after: before)?.instances else {
            Issue.record("the instance is told of")
            return
        }
        #expect(told.map(\.version) == ["2.0.0.0"])
        try await fixture.perform(
            .unentitle(user: "ann", entitlement: "com.example.report", version: "1.0.0.0", confirmed: true))
        guard case .allowed = try client.decide(Endpoint("a.example:443")) else {
            Issue.record("the instance has the version that is left")
            return
        }
        _ = try await fixture.document(presented, version: "1.0.0.0")
        guard case .refused = try client.reconsider(Endpoint("a.example:443")) else {
            Issue.record("a version that the user has lost is refused")
            return
        }
    }

    @Test func theRelayJudgesByCertificateStatusAndRoute() async throws {
        let fixture = try await DataFixture()
        try await fixture.perform(.addServer(.init(endpoint: "in.example:443", address: "127.0.0.9")))
        try await fixture.perform(.addServer(.init(endpoint: "127.0.0.1:8080")))
        try await fixture.perform(.addServer(.init(endpoint: "out.example:443", route: "direct")))
        let chain = try await fixture.chain(fixture.link(), DataFixture.request())
        let id = try await fixture.data.presented(chain[0]).name.instance.description

        func verdict(_ target: String, _ certificate: [UInt8]? = nil) async throws -> RelayVerdict? {
            let client = await fixture.data.currentState().client(presenting: certificate ?? chain[0])
            return try client?.decide(Endpoint(target))
        }
        guard case .allowed(let instance, let address, true, _) = try await verdict("IN.example.:443") else {
            Issue.record("a listed server is relayed")
            return
        }
        #expect(instance == id && address == IPAddress("127.0.0.9"))
        guard case .allowed(_, nil, true, _) = try await verdict("0x7f.1:8080") else {
            Issue.record("an address literal leads where it says")
            return
        }
        for target in ["out.example:443", "in.example:444", "unlisted.example:443"] {
            guard case .refused = try await verdict(target) else {
                Issue.record("\(target) is not relayed")
                return
            }
        }
        let foreign = try CertificateAuthority(CertificateAuthority.create(name: "foreign", now: Date()))
            .server(host: "localhost", now: Date())
        #expect(try await verdict("in.example:443", foreign.certificate) == nil)
        for withdrawal in [AdministrationCommand.Withdrawal.block, .wipe] {
            try await fixture.perform(.withdraw(instance: id, withdrawal))
            guard case .refused = try await verdict("in.example:443") else {
                Issue.record("a withdrawn instance is refused")
                return
            }
        }
    }

    @Test func anExpiredCertificateIsRefused() async throws {
        let fixture = try await DataFixture()
        try await fixture.perform(.addServer(.init(endpoint: "in.example:443")))
        let chain = try await fixture.chain(fixture.link(), DataFixture.request())
        let client = try #require(await fixture.data.currentState().client(presenting: chain[0]))
        guard case .allowed = try client.decide(Endpoint("in.example:443")) else {
            Issue.record("a listed server is relayed")
            return
        }
        // A tunnel that is open does not outlive the certificate where the policy is asked again.
        fixture.advance(8 * 86_400)
        guard case .refused = try client.decide(Endpoint("in.example:443")) else {
            Issue.record("an expired certificate is refused")
            return
        }
    }
}
