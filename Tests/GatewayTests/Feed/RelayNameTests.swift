import Foundation
import SallyportCore
import SallyportSecureStore
import TestSupport
import Testing

@testable import SallyportGateway

/// No relay has the name of a control gateway, by which apps and other relays know it.
@Suite(.timeLimit(.minutes(1))) struct RelayNameTests {
    private let fixture: DataFixture

    init() async throws { fixture = try await DataFixture() }

    private func invite(_ name: String) async throws -> AdministrationReply {
        let request = try RelayRequest(RelayPending(name: name, cluster: "main"))
        return try await fixture.data.perform(.invite(request: request.text))
    }

    @discardableResult
    private func enter(_ name: String, relay: String? = nil, at data: GatewayData? = nil) async throws -> Int64? {
        let record = GatewayRecord(
            id: GatewayIdentifier(), name: name, control: try Endpoint("\(name):17433"),
            relay: try relay.map { try Endpoint("\($0):17533") }, tokenKeys: [])
        return try await (data ?? fixture.data).store.register(record, at: Date())
    }

    @Test(arguments: [
        "localhost", "LOCALHOST", "localhost.", "b.example", "B.Example.", "relay-of-b.example", "bücher.example",
    ])
    func noRelayIsEnrolledUnderAGatewaysName(_ name: String) async throws {
        try await enter("b.example", relay: "relay-of-b.example")
        try await enter("xn--bcher-kva.example")
        guard case .failure(let failure) = try await invite(name) else { throw TestFailure("enrolled") }
        #expect(failure.name == "exists" && failure.message.contains("gateway"))
        try await fixture.data.catchUp()
        #expect(await fixture.data.relays.relays.isEmpty)
    }

    @Test func theReplySaysWhatWasAdded() async throws {
        try await enter("b.example")
        guard case .relayInvitation(let invited) = try await invite("Relay-A.Example.") else {
            throw TestFailure("not enrolled")
        }
        #expect(invited.name == "relay-a.example" && invited.cluster == "main")
        #expect(invited.invitation.hasPrefix(RelayInvitation.prefix))
    }

    @Test func noGatewayIsEnteredUnderARelaysName() async throws {
        _ = try await invite("relay-a.example")
        await #expect(throws: GatewayError(.exists, "")) { try await enter("relay-a.example") }
        await #expect(throws: GatewayError(.exists, "")) { try await enter("a.example", relay: "relay-a.example") }
        #expect(try await enter("a.example") != nil)
    }

    @Test func noGatewayJoinsUnderARelaysName() async throws {
        guard let fleet = fixture.fleet else { return }
        _ = try await invite("relay-a.example")
        let folder = try TemporaryDirectory()
        let own = try await SecureStore.open(
            at: folder.file("own"), protectedBy: .keyFile(folder.file("own.key")), options: StoreOptions())
        defer { own.close() }
        await #expect(throws: GatewayError(.exists, "")) {
            try await GatewayData.join(fleet.membership, own, name: "Relay-A.example", through: TestFleet.databases)
        }
        #expect(try !GatewayDirectory.isGateway(own))
    }

    /// At two gateways, of which neither knows what the other does.
    @Test func ofARelayAndAGatewayAtOnceOneIsAdded() async throws {
        let other = try await fixture.restarted()
        for round in 0..<8 {
            let name = "member\(round).example"
            async let reply = invite(name)
            async let revision = try? enter(name, at: other)
            let (answered, entered) = (try await reply, await revision)
            let isEnrolled = if case .relayInvitation = answered { true } else { false }
            #expect(isEnrolled != (entered != nil))
        }
    }
}
