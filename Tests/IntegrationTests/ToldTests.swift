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

    @Test func serversPolicyAndEntitlementsHaveTheirEvents() async throws {
        try await RunningApp.run { app in
            let policy = try app.site.folder.write("{\"level\":3}", to: "policy.json")
            try await app.site.admin("app", "add", "com.example.other", "1.0")
            var events = Self.events(app).makeAsyncIterator()
            let orders: [([String], AuthorizationEvent.Kind, Int)] = [
                (["server", "add", "a.corp.example:443"], .servicesUpdate, 3),
                (["route", "set", "b.example", "direct"], .servicesUpdate, 3),
                (["route", "set", "10.0.0.0/8", "deny"], .servicesUpdate, 3),
                (["cluster", "set", "west", "r.example:443"], .servicesUpdate, 3),
                (["default-domains", "set", "corp.example"], .servicesUpdate, 3),
                (["policy", "set", Site.app, "-f", policy], .policyUpdate, 4),
                (["entitle", Site.user, "com.example.other", "1.0"], .entitlementsUpdate, 6),
            ]
            for (order, kind, number) in orders {
                let outcome = try await app.site.tryAdmin(order)
                #expect(outcome.status == 0, "\(outcome.error)")
                #expect(await events.next() == kind && kind.rawValue == number, "\(order)")
            }
            #expect(app.sallyport.authorization.configuration.policy == "{\"level\":3}")
            #expect(app.sallyport.authorization.configuration.entitledVersions(of: "com.example.other") == ["1.0"])
        }
    }

    /// A locked instance is told nothing but that, and an unlocked one everything again.
    @Test(arguments: [("block", "unblock"), ("lock", "unlock")])
    func whatChangedWhileAccessWasWithdrawnIsToldOnceItIsBack(order: String, end: String) async throws {
        try await RunningApp.run { app in
            var events = Self.events(app).makeAsyncIterator()
            let instance = try #require(try await app.site.instances().first).instance
            try await app.site.admin(order, instance)
            #expect(await events.next() == .notAuthorized)
            let policy = try app.site.folder.write("{\"level\":4}", to: "policy.json")
            try await app.site.admin("policy", "set", Site.app, "-f", policy)
            try await app.site.admin(end, instance)
            #expect(await events.next() == .authorized)
            #expect(await events.next() == .policyUpdate)
            // Nothing else has changed: the next event is of the next change.
            try await app.site.admin("user", "principal", Site.user, "ann@CORP.EXAMPLE")
            #expect(await events.next() == .remoteSettingsUpdate)
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
