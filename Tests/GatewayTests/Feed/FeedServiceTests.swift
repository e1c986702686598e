import Crypto
import Foundation
import HTTPTypes
import NIOCore
import SallyportBase
import SallyportCore
import SallyportWire
import TestSupport
import Testing
import X509

@testable import SallyportGateway

/// Who may follow the feed, and what it says.
@Suite(.timeLimit(.minutes(2))) struct FeedServiceTests {
    private static let body = Array(#"{"applied":1,"echo":1,"port":1,"renewals":[],"asks":false}"#.utf8)

    private func withRelay(_ body: @Sendable (ControlFixture, EnrolledRelay) async throws -> Void) async throws {
        try await ControlFixture.with(DataFixture(standsStill: false)) { fixture in
            try await body(fixture, EnrolledRelay.enrolled(at: fixture.data.data))
        }
    }

    /// The lines of the feed, up to the one for which `isEnough` is true of all lines so far.
    private func lines(
        of fixture: ControlFixture, for relay: EnrolledRelay, until isEnough: @escaping @Sendable ([FeedLine]) -> Bool
    ) async throws -> [FeedLine] {
        struct Enough: Error {}
        let lines = Lock<[FeedLine]>([])
        let client = try relay.client(of: fixture.port)
        do {
            try await client.receive("\(FeedAPI.feed)?echo=17&port=4711") { bytes in
                let line = try FeedLine(bytes)
                let all = lines.withLock { lines in
                    lines.append(line)
                    return lines
                }
                if isEnough(all) { throw Enough() }
            }
        } catch is Enough {}
        return lines.withLock { $0 }
    }

    @Test func onlyARelayMayFollowTheFeed() async throws {
        try await withRelay { fixture, relay in
            let instance = try await fixture.activated()
            for path in [FeedAPI.applied, FeedAPI.certificates] {
                #expect(try await fixture.post(path, Self.body).status == 401)
                #expect(try await fixture.post(path, Self.body, as: instance).status == 401)
            }
            #expect(try await fixture.get(FeedAPI.feed).status == 401)
            #expect(try await fixture.get(FeedAPI.feed, as: instance).status == 401)
            #expect(try await fixture.post(FeedAPI.applied, Self.body, as: relay.identity).status == 200)
        }
    }

    /// It would come back to the relay with the next beat, even if a machine with a copy of its folder has sent it.
    @Test(arguments: [-1, Int64.min]) func aNegativeNumberIsNotRepeated(_ echo: Int64) async throws {
        try await withRelay { fixture, relay in
            let report = #"{"applied":0,"echo":\#(echo),"port":0,"renewals":[],"asks":false}"#
            let reported = try await fixture.post(FeedAPI.applied, Array(report.utf8), as: relay.identity)
            #expect(reported.status == 400)
            let followed = try await fixture.get("\(FeedAPI.feed)?echo=\(echo)&port=0", as: relay.identity)
            #expect(followed.status == 400)
        }
    }

    @Test func aRelayIsNoInstance() async throws {
        try await withRelay { fixture, relay in
            for path in [ControlAPI.Path.configuration, ControlAPI.Path.events] {
                #expect(try await fixture.get(path, as: relay.identity).status == 401)
            }
            let renewal = try await fixture.renew(as: relay.identity)
            #expect(renewal.status == 401)
            #expect(try await fixture.connect(to: 1, as: relay.identity).status == 403)
        }
    }

    @Test func aRelaysCertificatesAreOfTwoKindsAndOfNoOther() async throws {
        try await withRelay { _, relay in
            #expect(relay.membership.client.key != relay.membership.server.key)
            let (client, server) = (try relay.membership.client.parsed(), try relay.membership.server.parsed())
            #expect(try client.certificate.extensions.extendedKeyUsage?.map { $0 } == [.clientAuth])
            #expect(try server.certificate.extensions.extendedKeyUsage?.map { $0 } == [.serverAuth])
        }
    }

    @Test func theFeedBeginsWithEverythingAndGoesOnWithChanges() async throws {
        try await withRelay { fixture, relay in
            let instance = try await fixture.activated()
            let id = try await fixture.data.data.presented(instance.certificates[0]).name.instance
            let withdrawn = Lock(false)
            let lines = try await lines(of: fixture, for: relay) { lines in
                if case .beat = lines.last, !withdrawn.withLock({ $0 }) {
                    withdrawn.withLock { $0 = true }
                    Task { try await fixture.data.perform(.withdraw(instance: id.description, .lock)) }
                }
                return lines.contains { line in
                    if case .instances(let instances) = line {
                        return instances.contains { $0.withdrawals == [.locked] }
                    }
                    return false
                }
            }
            guard case .begin(nil, _) = lines.first else { throw TestFailure("\(lines)") }
            let beats = lines.compactMap { line -> FeedBeat? in if case .beat(let beat) = line { beat } else { nil } }
            #expect(beats.allSatisfy { $0.echo == 17 })
            let changes = lines.compactMap { line -> Int64? in if case .begin(let from, _) = line { from } else { nil }
            }
            #expect(!changes.isEmpty)
            #expect(await fixture.data.data.relays.relays.first?.port == 4711)
        }
    }

    /// A test in the words of an attacker: whatever is private is looked for in what a relay is told.
    @Test func nothingPrivateIsInTheFeed() async throws {
        try await withRelay { fixture, relay in
            let link = try await fixture.data.link()
            _ = try await fixture.activated()
            try await fixture.data.perform(
                .configureApplication(entitlement: "com.example.report", text: "planted-configuration"))
            try await fixture.data.perform(
                .setPolicy(entitlement: "com.example.report", json: #"{"planted":"policy"}"#))
            let lines = try await lines(of: fixture, for: relay) { lines in
                if case .beat = lines.last { true } else { false }
            }
            let text = try lines.map { String(decoding: try $0.serialized(), as: UTF8.self) }.joined()
            let data = fixture.data.data
            let (authorities, tokens) = (await data.authorities, await data.tokenKeys)
            var secrets = [authorities.record.present.key, await data.server.key, await data.signer.key]
            secrets += tokens.records.map(\.key)
            for secret in secrets {
                // The text of a key ends with its public part, which certificates have too.
                let body = secret.split(separator: "\n").dropFirst().dropLast().joined()
                let scalar = try P256.Signing.PrivateKey(pemRepresentation: secret).rawRepresentation
                #expect(body.count > 100 && !text.contains(body.prefix(40)))
                #expect(!text.contains(body.dropFirst(48).prefix(40)))
                #expect(!text.contains(scalar.base64EncodedString().prefix(42)))
            }
            for word in ["PRIVATE", link.accessKey.reveal(), "planted", "digest", "\"key\""] {
                #expect(!text.contains(word), "\(word)")
            }
            if let fleet = fixture.data.fleet {
                #expect(!text.contains(fleet.membership.recoveryKey.reveal()) && !text.contains("postgresql"))
            }
            #expect(text.contains("com.example.report") && text.contains("ann"))
        }
    }

    @Test func aRemovedRelayIsRefusedAtTheNextLine() async throws {
        try await withRelay { fixture, relay in
            let isRemoved = Lock(false)
            let lines = try await lines(of: fixture, for: relay) { lines in
                if case .beat = lines.last, !isRemoved.withLock({ $0 }) {
                    isRemoved.withLock { $0 = true }
                    Task { try await fixture.data.perform(.removeRelay(name: relay.name)) }
                }
                return lines.last == .removed
            }
            #expect(lines.last == .removed)
            #expect(try await fixture.get(FeedAPI.feed, as: relay.identity).status == 403)
            #expect(try await fixture.post(FeedAPI.applied, Self.body, as: relay.identity).status == 403)
        }
    }

    /// The relay's first certificate, and those of two renewals, each asked for with the one before.
    private func renewedTwice(_ relay: EnrolledRelay, at fixture: ControlFixture) async throws -> [StoredIdentity] {
        var identities = [relay.membership.client]
        for _ in 0..<2 {
            let keys = RelayKeys()
            let client = FeedClient(
                address: try Endpoint("localhost:\(fixture.port)"), identity: identities[identities.count - 1],
                trust: relay.membership.trust)
            let certificates: RelayCertificates = try await client.post(
                FeedAPI.certificates, keys.request(named: relay.name))
            identities.append(try keys.identities(certificates).client)
        }
        return identities
    }

    /// A relay may follow over one connection for 120 days: if it were told then that it was removed, it would end its
    /// tunnels.
    @Test func aStreamThatOutlivesTwoRenewalsEndsAndDoesNotSayThatTheRelayWasRemoved() async throws {
        try await withRelay { fixture, relay in
            let isRenewing = Lock(false)
            let lines = try await lines(of: fixture, for: relay) { lines in
                if case .beat = lines.last, !isRenewing.withLock({ $0 }) {
                    isRenewing.withLock { $0 = true }
                    Task { try await renewedTwice(relay, at: fixture) }
                }
                return lines.last == .removed || lines.count == 100
            }
            #expect(lines.count < 100 && !lines.contains(.removed))
            #expect(await fixture.data.data.relays.relays.map(\.name) == [relay.name])
        }
    }

    @Test func aRenewalGivesNewCertificatesAndEndsThatBeforeTheLast() async throws {
        try await withRelay { fixture, relay in
            let identities = try await renewedTwice(relay, at: fixture)
            let statuses = try await identities.asyncMap { identity in
                try await fixture.post(
                    FeedAPI.applied, Self.body,
                    as: ClientIdentity(certificates: [identity.certificate], privateKey: Redacted(identity.key))
                ).status
            }
            #expect(statuses == [403, 200, 200])
        }
    }

    @Test func aReplacedCertificateRenewsNothingAtAGatewayThatHasNotHeardOfIt() async throws {
        let fixture = try await DataFixture()
        let invited = try RelayRequest(RelayPending(name: "relay-a.example", cluster: "main"))
        _ = await fixture.data.perform(.invite(request: try invited.text))
        let record = try #require(await fixture.data.relays.relays.first)
        let other = try await fixture.restarted { fixture.now }
        let request = try RelayKeys().request(named: record.name)
        let authority = try AuthorityCertificate(await fixture.data.authorityDER).fingerprint
        func presented(_ serial: String) -> PresentedRelay {
            PresentedRelay(id: record.id, serial: serial, end: .distantFuture, authority: authority)
        }
        var serial = record.serials[0]
        for _ in 0..<2 {
            let certificates = try await fixture.data.renew(presented(serial), request)
            serial = CertificateAuthority.serial(ofDER: Array(certificates.client))
        }
        let replaced = presented(record.serials[0])
        await #expect(throws: GatewayError(.forbidden, "")) { try await other.renew(replaced, request) }
        _ = try await other.renew(presented(serial), request)
    }

    @Test func moreRenewalsThanARelayNeedsAreRefusedAndItsFeedGoesOn() async throws {
        try await withRelay { fixture, relay in
            let client = try relay.client(of: fixture.port)
            let request = try RelayKeys().request(named: relay.name)
            let count = Int(RatePace.relayRenewals.burst)
            for _ in 0..<count {
                let _: RelayCertificates = try await client.post(FeedAPI.certificates, request)
            }
            let refused = try await fixture.post(
                FeedAPI.certificates, Array(FeedCoding.encoder.encode(request)), as: relay.identity)
            let wait = try #require(refused.fields[.retryAfter].flatMap { Int($0) })
            #expect(refused.status == 429 && (300...361).contains(wait))
            let error = await #expect(throws: GatewayError.self) {
                let _: RelayCertificates = try await client.post(FeedAPI.certificates, request)
            }
            #expect(error?.code == .limited && (300...361).contains(error?.retryAfter ?? 0))
            let renewals = try await fixture.data.entries().filter { $0[.action] == "relay.renew" }
            #expect(renewals.count == count)
            #expect(try await fixture.post(FeedAPI.applied, Self.body, as: relay.identity).status == 200)
            let lines = try await lines(of: fixture, for: relay) { lines in
                if case .beat = lines.last { true } else { false }
            }
            #expect(lines.count > 1)
        }
    }

    @Test func aPortThatChangesAllTheTimeDoesNotFillTheAuditTrail() async throws {
        try await withRelay { fixture, relay in
            for port in 1...30 {
                let report = Array(
                    #"{"applied":\#(port),"echo":1,"port":\#(port),"renewals":[],"asks":false}"#.utf8)
                #expect(try await fixture.post(FeedAPI.applied, report, as: relay.identity).status == 200)
            }
            let count = Int(RatePace.relayPorts.burst)
            let changes = try await fixture.data.entries().filter { $0[.action] == "relay.port" }
            #expect(changes.count == count)
            #expect(await fixture.data.data.relays.relays.first?.port == UInt16(count))
        }
    }

    @Test func aRequestIsForItsRelayAndItsNameIsTakenOnce() async throws {
        try await withRelay { fixture, relay in
            await #expect(throws: TestFailure.self) { try await EnrolledRelay.enrolled(at: fixture.data.data) }
            let other = RelayKeys()
            #expect(throws: GatewayError.self) {
                try other.identities(
                    RelayCertificates(
                        client: Data(relay.membership.client.certificate),
                        server: Data(relay.membership.server.certificate), trust: []))
            }
        }
    }

    /// Nothing is queued for it but what the sockets take, and its connection ends after a while.
    @Test func aRelayThatDoesNotReadIsCutOff() async throws {
        try await withRelay { fixture, relay in
            let routes = (0..<3900).map { "{domain: long-name-of-a-domain-\($0).corp.example, route: deny}" }
            _ = await fixture.data.data.perform(
                .apply(
                    yaml: "routes: [\(routes.joined(separator: ", "))]", prune: false, dryRun: false, confirmed: false))
            let connection = try await fixture.connection(as: relay.identity)
            connection.send("GET \(FeedAPI.feed)?echo=1&port=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try await connection.head().hasPrefix("HTTP/1.1 200"))
            // The kernel would take many megabytes.
            try await connection.channel.setOption(.socketOption(.so_rcvbuf), value: 16_384).get()
            try await connection.pauseReading()
            let changing = Task {
                for number in 0... {
                    try Task.checkCancellation()
                    try await fixture.data.perform(
                        .setRoute(domain: "corp.example", route: number % 2 == 0 ? "deny" : "relay", ports: nil))
                }
            }
            let isCutOff = try await eventually(within: .seconds(40)) {
                try await fixture.scrape()["connections", "listener=\"control\""] == 0
            }
            #expect(isCutOff)
            changing.cancel()
            _ = try? await changing.value
        }
    }

    @Test func aSecondStreamOfARelayEndsItsFirstOneAndNothingElse() async throws {
        try await withRelay { fixture, relay in
            let request = "GET \(FeedAPI.feed)?echo=1&port=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
            var streams: [TestConnection] = []
            for _ in 0..<3 {
                let connection = try await fixture.connection(as: relay.identity)
                connection.send(request)
                #expect(try await connection.head().hasPrefix("HTTP/1.1 200"))
                streams.append(connection)
            }
            for stream in streams.dropLast() { #expect(try await eventually { !stream.isOpen }) }
            #expect(streams[2].isOpen)
            let health = try await fixture.get(ControlAPI.Path.health)
            #expect(health.status == 200)
        }
    }

    @Test func aBodyAboveTheLimitIsRefused() async throws {
        try await withRelay { fixture, relay in
            let name = "sallyport://com.example.report/\(InstanceIdentifier())"
            func report(_ count: Int) -> [UInt8] {
                let renewals = Array(repeating: #"{"name":"\#(name)","serial":"00"}"#, count: count)
                    .joined(separator: ",")
                return Array(
                    #"{"applied":1,"echo":1,"port":1,"renewals":[\#(renewals)],"asks":false}"#.utf8)
            }
            let limit = FeedReport.renewalLimit
            let taken = try await fixture.post(FeedAPI.applied, report(limit), as: relay.identity)
            #expect(taken.status == 200)
            #expect(try await fixture.post(FeedAPI.applied, report(limit + 1), as: relay.identity).status == 400)
            #expect(try await fixture.post(FeedAPI.applied, [0x7b], as: relay.identity).status == 400)
        }
    }
}

extension Array {
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async throws -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
