import Foundation
import Sallyport
import TestSupport
import Testing

/// What an administrator says to apps, as a running app hears it: a real gateway, the program, and the app.
@Suite(.timeLimit(.minutes(2))) struct ToldTests {
    private static func events(_ app: RunningApp) -> AsyncStream<AuthorizationEvent.Kind> {
        let events = app.sallyport.authorization.events
        return AsyncStream { continuation in
            let task = Task {
                for await event in events { continuation.yield(event.kind) }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    @Test func theDocumentedKeysOfTheApplicationComeWithEvent2() async throws {
        try await RunningApp.run { app in
            var events = Self.events(app).makeAsyncIterator()
            let before = try #require(app.sallyport.authorization.configuration.application)
            #expect(before.userPrincipalName == nil && before.extraInfo == nil)
            #expect(!before.detailedLogsOn && !before.preventUserDetailedLogs)
            let extra = try app.site.folder.write("{\"region\": \"north\"}\n", to: "extra.json")
            let orders = [
                ["user", "principal", Site.user, "ann@CORP.EXAMPLE"],
                ["app", "logs", Site.app, "--detailed", "on", "--users", "off"],
                ["app", "extra", Site.app, "-f", extra],
            ]
            for order in orders {
                let outcome = try await app.site.tryAdmin(order)
                #expect(outcome.status == 0, "\(outcome.error)")
                #expect(await events.next() == .remoteSettingsUpdate, "\(order)")
            }
            let after = try #require(app.sallyport.authorization.configuration.application)
            #expect(after.userPrincipalName == "ann@CORP.EXAMPLE")
            #expect(after.detailedLogsOn && after.preventUserDetailedLogs)
            #expect(after.extraInfo == "{\"region\": \"north\"}\n")
        }
    }

    @Test func anotherLeaseHoldsForRunningAppsAtOnce() async throws {
        try await RunningApp.run { app in
            func end() -> Int64? { app.sallyport.authorization.configuration.leaseEnd }
            let before = try #require(end())
            try await app.site.admin("lease", "5m")
            #expect(try await eventually { (end() ?? before) < before - 80_000 })
            try await app.site.admin("lease", "7d")
            #expect(try await eventually { (end() ?? 0) > before + 500_000 })
            #expect(app.sallyport.authorization.state == .authorized)
            let refused = try await app.site.tryAdmin(["lease", "8d", "--json"])
            #expect(try refused.status == 64 && refused.failure().name == "invalid")
        }
    }
}
