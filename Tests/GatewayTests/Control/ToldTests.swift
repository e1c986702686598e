import Foundation
import SallyportBase
import SallyportWire
import Testing

@testable import SallyportGateway

/// What an administrator sets is in the configuration that the gateway signs.
@Suite struct ToldTests {
    @Test func theConfigurationHasTheDocumentedKeysOfTheApplication() async throws {
        try await ControlFixture.with { fixture in
            let identity = try await fixture.activated()
            let (user, app) = ("ann", "com.example.report")
            let before = try await fixture.document(as: identity)
            #expect(before.user.principalName == nil && before.application == .init())
            #expect(before.leaseEnd - before.iat == 86_400)
            for command: AdministrationCommand in [
                .setPrincipalName(user: user, "ann@CORP.EXAMPLE"),
                .setLogging(entitlement: app, isDetailed: true, isKeptFromUsers: true),
                .setExtraInfo(entitlement: app, json: "{\"region\":\"north\"}"),
                .configureApplication(entitlement: app, text: "text"), .setLease("12h"),
            ] {
                #expect(await fixture.data.data.perform(command) == .done, "\(command)")
            }
            let after = try await fixture.document(as: identity)
            #expect(after.user.principalName == "ann@CORP.EXAMPLE")
            #expect(
                after.application
                    == .init(
                        config: "text", detailedLogsOn: true, preventUserDetailedLogs: true,
                        extraInfo: "{\"region\":\"north\"}"))
            #expect(after.leaseEnd - after.iat == 43_200)
        }
    }

    @Test func aWithdrawnInstanceIsNotToldWhoTheUserIsElsewhere() async throws {
        try await ControlFixture.with { fixture in
            let identity = try await fixture.activated()
            let user = "ann"
            #expect(await fixture.data.data.perform(.setPrincipalName(user: user, "ann@CORP.EXAMPLE")) == .done)
            let instance = try await fixture.document(as: identity).aud.description
            #expect(await fixture.data.data.perform(.withdraw(instance: instance, .lock)) == .done)
            #expect(try await fixture.document(as: identity).user.principalName == nil)
        }
    }
}
