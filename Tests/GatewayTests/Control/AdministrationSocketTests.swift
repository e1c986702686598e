import Foundation
import NIOCore
import NIOPosix
import SallyportSecureStore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// The socket on which a running gateway takes an administrator's commands, as lines of JSON.
@Suite(.timeLimit(.minutes(1))) struct AdministrationSocketTests {
    /// Sends bytes, and returns what comes back until the gateway has answered with a line or closes.
    private func answer(to bytes: [UInt8], in data: String) async throws -> String {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(unixDomainSocketPath: AdministrationSocket.plainPath(of: data)) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            // A gateway that closes ends the write too.
            try? await outbound.write(ByteBuffer(bytes: bytes))
            var text = ""
            do {
                for try await buffer in inbound {
                    text += String(buffer: buffer)
                    if text.hasSuffix("\n") { break }
                }
            } catch is IOError {}
            return text
        }
    }

    private func client(_ fixture: ControlFixture) -> AdministrationClient {
        AdministrationClient(data: fixture.data.path, protectedBy: .keyFile("\(fixture.data.path)/key"))
    }

    @Test func whatIsNoCommandIsAnsweredAsSuchAndHarmsNothing() async throws {
        let nested = String(repeating: "[", count: 100_000)
        let lines = [
            "", "{", "null", "[]", "\"listUsers\"", "{\"listUsers\":{}", "{\"unknown\":{}}", "{\"addUser\":{\"_0\":1}}",
            "{\"addUser\":{}}", "{\"setRoute\":{\"domain\":\"a\",\"route\":\"relay\",\"ports\":[65536]}}",
            "{\"addServer\":{\"_0\":{\"endpoint\":\"a:1\",\"route\":\"relay\",\"priority\":1e400}}}",
            "{\"withdraw\":{\"instance\":\"x\",\"_1\":\"destroy\",\"confirmed\":true}}", nested,
            "{\"addUser\":{\"_0\":" + nested, "\u{0}\u{1}\u{feff}", "{\"listUsers\":{},\"listServers\":{}}",
        ]
        try await ControlFixture.with { fixture in
            for line in lines {
                let answer = try await answer(to: Array(line.utf8) + [10], in: fixture.data.path)
                #expect(answer.contains("\"invalid\""), "\(line.prefix(60)): \(answer.prefix(200))")
            }
            let broken = try await answer(to: [0xff, 0xfe, 0xc0, 10], in: fixture.data.path)
            #expect(broken.contains("\"invalid\""))
            #expect(try await client(fixture).perform(.listUsers) == .users(["ann"]))
        }
    }

    @Test func valuesThatDecodeAreStillChecked() async throws {
        try await ControlFixture.with { fixture in
            let commands: [AdministrationCommand] = [
                .addUser("a:b"), .setRoute(domain: "a.example", route: "relay", ports: []),
                .addServer(.init(endpoint: "a.example:1", entitlement: "com.example.report", priority: .min)),
                .setCluster(name: "west", relays: [.init(endpoint: "a.example:1", priority: .max)]),
                .setCluster(name: "west", relays: []), .withdraw(instance: "\u{0}", .wipe, confirmed: false),
            ]
            for command in commands {
                guard case .failure = try await client(fixture).perform(command) else {
                    Issue.record("\(command) was carried out")
                    continue
                }
            }
        }
    }

    @Test func aLineAboveTheLimitEndsItsConnectionOnly() async throws {
        try await ControlFixture.with { fixture in
            let long = [UInt8](repeating: UInt8(ascii: " "), count: AdministrationSocket.maximumCommand + 1)
            let refused = try await answer(to: long, in: fixture.data.path)
            #expect(refused.isEmpty)
            let fits = Array("{\"listUsers\":{}}".utf8)
            let padding = [UInt8](
                repeating: UInt8(ascii: " "), count: AdministrationSocket.maximumCommand - fits.count - 1)
            let answered = try await answer(to: padding + fits + [10], in: fixture.data.path)
            #expect(answered.contains("\"ann\""))
        }
    }

    @Test func aCommandAboveTheLimitIsNotSent() async throws {
        try await ControlFixture.with { fixture in
            let text = String(repeating: "a", count: AdministrationSocket.maximumCommand)
            await #expect(throws: GatewayError(.invalid, "")) {
                try await client(fixture).perform(.configureApplication(entitlement: "com.example.report", text: text))
            }
        }
    }

    @Test func theListsComeOverTheSocketAsTheyAre() async throws {
        try await ControlFixture.with { fixture in
            _ = try await fixture.activated()
            for command: AdministrationCommand in [
                .listApplications, .listServers, .listRoutes, .listClusters, .listInstances,
            ] {
                let reply = try await client(fixture).perform(command)
                #expect(reply == (await fixture.data.data.perform(command)), "\(command)")
            }
        }
    }
}

/// A wipe is carried out only once it is confirmed.
@Suite struct WipeConfirmationTests {
    @Test func anUnconfirmedWipeNamesTheInstanceAndDoesNothing() async throws {
        let fixture = try await DataFixture()
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let id = presented.name.instance.description
        let asked = await fixture.data.perform(.withdraw(instance: id, .wipe, confirmed: false))
        guard case .needsConfirmation(let entries) = asked else { throw GatewayError(.invalid, "\(asked)") }
        #expect(entries.map(\.instance) == [id] && entries.map(\.status) == ["active"])
        #expect(
            AdministrationReply.InstanceEntry.names(of: entries) == "\(id) of ann (com.example.report)")
        #expect(try await fixture.document(presented).status == .active)

        let confirmed = try #require(AdministrationCommand.withdraw(instance: id, .wipe, confirmed: false).confirmed)
        #expect(await fixture.data.perform(confirmed) == .done)
        #expect(try await fixture.document(presented).status == .wiped)
    }

    @Test func aWipeThatIsImpossibleSaysSoInsteadOfAsking() async throws {
        let fixture = try await DataFixture()
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let id = presented.name.instance.description
        try await fixture.perform(.withdraw(instance: id, .wipe))
        for (instance, name) in [(id, "invalid"), (UUID().uuidString, "notFound"), ("x", "notFound")] {
            let reply = await fixture.data.perform(.withdraw(instance: instance, .wipe, confirmed: false))
            guard case .failure(let failure) = reply else { throw GatewayError(.invalid, "\(reply)") }
            #expect(failure.name == name)
        }
    }

    @Test func whatCanBeTakenBackAsksForNothing() async throws {
        let fixture = try await DataFixture()
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let id = presented.name.instance.description
        for withdrawal in [AdministrationCommand.Withdrawal.block, .unblock, .lock, .unlock] {
            #expect(
                await fixture.data.perform(.withdraw(instance: id, withdrawal, confirmed: false)) == .done,
                "\(withdrawal)")
        }
    }

    @Test func tenInstancesAreNamedAndTheOthersCounted() {
        let entries = (0..<12).map { number in
            AdministrationReply.InstanceEntry(
                instance: "i\(number)", user: "ann", entitlement: "com.a", version: "", status: "active",
                lastContact: .distantPast)
        }
        let names = AdministrationReply.InstanceEntry.names(of: entries)
        #expect(names.contains("i9 of ann (com.a) and 2 more") && !names.contains("i10"))
    }
}
