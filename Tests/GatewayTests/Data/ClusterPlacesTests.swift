import Foundation
import Logging
import SallyportCore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// How many relays a cluster may have, and of which apps are told if there are more.
@Suite(.timeLimit(.minutes(1))) struct ClusterPlacesTests {
    private let fixture: DataFixture

    init() async throws { fixture = try await DataFixture() }

    /// Other gateways of the fleet, each with a relay.
    private func enter(_ numbers: Range<Int>) async throws {
        for number in numbers {
            let name = "g\(number).example"
            let record = GatewayRecord(
                id: GatewayIdentifier(), name: name, control: try Endpoint("\(name):17433"),
                relay: try Endpoint("\(name):17533"), tokenKeys: [])
            _ = try await fixture.data.store.register(record, at: fixture.now)
        }
        try await fixture.data.catchUp()
    }

    private func invite(_ name: String, into cluster: String = "main") async throws -> AdministrationReply {
        let request = try RelayRequest(RelayPending(name: name, cluster: cluster))
        return try await fixture.data.perform(.invite(request: request.text))
    }

    private func isInvited(_ reply: AdministrationReply) -> Bool {
        if case .relayInvitation = reply { true } else { false }
    }

    private func set(_ names: [String]) async -> AdministrationReply {
        await fixture.data.perform(.setCluster(name: "west", relays: names.map { .init(endpoint: "\($0):443") }))
    }

    /// 64 with the fixture's own.
    private func fill() async throws {
        try await enter(0..<62)
        #expect(try await isInvited(invite("relay-a.example")))
    }

    @Test func theSixtyFifthRelayOfAClusterIsRefused() async throws {
        try await fill()
        guard case .failure(let failure) = try await invite("relay-b.example") else { throw TestFailure("enrolled") }
        #expect(failure.name == "invalid")
        #expect(
            failure.message
                == "Cluster main would have 65 relays, those of gateways among them, and apps are told of 64 at most.")
        #expect(await fixture.data.relays.relays.map(\.name) == ["relay-a.example"])
        #expect(await set(["w.example"]) == .done)
        #expect(try await isInvited(invite("relay-b.example", into: "west")))
    }

    @Test func noClusterIsSetWithMoreRelaysThanThereMayBeWithThoseOfTheirOwn() async throws {
        let names = (0..<64).map { "w\($0).example" }
        #expect(await set(Array(names.prefix(63))) == .done)
        #expect(try await isInvited(invite("relay-a.example", into: "west")))
        guard case .failure(let failure) = await set(names) else { throw TestFailure("set") }
        #expect(failure.name == "invalid" && failure.message.hasPrefix("Cluster west would have 65 relays"))
        let servers = names.map { "{server: \"\($0):443\"}" }.joined(separator: ", ")
        let yaml = "clusters: [{name: west, relays: [\(servers)]}]"
        for isDryRun in [false, true] {
            let reply = await fixture.data.perform(
                .apply(yaml: yaml, prune: false, dryRun: isDryRun, confirmed: true))
            guard case .failure(let failure) = reply else { throw TestFailure("\(reply)") }
            #expect(failure.message.hasPrefix("Cluster west would have 65 relays"))
        }
        // A guard beside a relay that is declared takes up no further place.
        #expect(await set(Array(names.prefix(63)) + ["relay-a.example"]) == .done)
    }

    @Test func aGatewayIsNotRefusedAndRelaysOfSilentOnesAreLeftOutFirst() async throws {
        try await fill()
        let relay = try #require(await fixture.data.relays.relays.first)
        let presented = PresentedRelay(id: relay.id, serial: relay.serials[0], end: .distantFuture, authority: [])
        try await fixture.data.note(presented, listensOn: 17533)
        #expect(try await fixture.data.lookAtCrowding() == [:])
        fixture.advance(60)
        try await enter(62..<63)
        #expect(try await fixture.data.lookAtCrowding() == ["main": 65])
        let instance = try await fixture.enroll(fixture.link(), DataFixture.request())
        let main = try await fixture.document(instance).clusters.first { $0.name == "main" }
        let relays = try #require(main).relays.map(\.endpoint.description)
        #expect(relays.count == 64)
        #expect(Array(relays.prefix(3)) == ["g62.example:17533", "localhost:17533", "relay-a.example:17533"])
    }

    @Test func aGatewayWhoseRelayIsOneTooManyStartsAndSaysSo() async throws {
        try await fill()
        try await enter(62..<63)
        let log = LogRecorder()
        let logger = Logger(label: "gateway") { _ in RecordingLogHandler(recorder: log) }
        try await ControlFixture.with(fixture, logger: logger) { _ in
            let isSaid = try await eventually {
                log.lines.contains { $0.contains("has more relays than apps are told of") && $0.contains("65") }
            }
            #expect(isSaid, "\(log.lines)")
        }
    }
}
