import Foundation
import Sallyport
import SallyportBase
import TestSupport
import Testing

/// Rotation of the authority and revocation of the signer while apps work.
@Suite struct AuthorityRotationTests {
    /// What `gateway authority … --json` prints.
    private struct Status: Decodable {
        struct Certificate: Decodable, Equatable { var fingerprint: String }
        struct Next: Decodable {
            var certificate: Certificate
            var waiting: Int
        }
        struct Former: Decodable { var certificate: Certificate }
        var present: Certificate
        var next: Next?
        var former: [Former]
        var signers: Int64
        var signer: Certificate
    }

    private func attempt(_ site: Site, _ arguments: String...) async throws -> Outcome {
        try await ChildProcess(
            Programs.built("sallyport"), ["gateway", "authority"] + arguments + ["--data", site.data, "--json"]
        ).outcome()
    }

    @discardableResult
    private func authority(_ site: Site, _ arguments: String...) async throws -> Status {
        let outcome = try await ChildProcess(
            Programs.built("sallyport"), ["gateway", "authority"] + arguments + ["--data", site.data, "--json"]
        ).outcome()
        try #require(outcome.status == 0, "\(outcome.error)")
        return try outcome.json(Status.self)
    }

    /// Loads without pause while `body` runs, and returns the failures.
    private func loading(_ app: RunningApp, _ body: () async throws -> Void) async throws -> [String] {
        let state = Lock((failures: [String](), loads: 0))
        let loads = Task { [session = app.session, url = "\(app.intranet.url)/report.txt"] in
            while !Task.isCancelled {
                do {
                    _ = try await session.data(for: .get(url), upTo: .kibibytes(64))
                } catch  where !Task.isCancelled {
                    state.withLock { $0.failures.append("\(error)") }
                } catch {}
                state.withLock { $0.loads += 1 }
            }
        }
        defer { loads.cancel() }
        try await body()
        let done = state.withLock { $0.loads }
        #expect(try await eventually { state.withLock { $0.loads } > done + 20 })
        return state.withLock { $0.failures }
    }

    @Test func noLoadFailsOverARotation() async throws {
        try await RunningApp.run { app in
            let failures = try await loading(app) {
                let before = try await authority(app.site, "status")
                let first = app.sallyport.authorization.configuration.epoch ?? 0
                // The app is told at once, perhaps before the command's answer counts the instances that wait.
                let next = try #require(try await authority(app.site, "rotate").next)
                #expect(next.waiting <= 1)
                #expect(try await eventually { app.sallyport.authorization.configuration.epoch ?? 0 > first })
                // Authorizes once more, so that the stored configuration has been reported for certain.
                try await app.sallyport.authorize()
                #expect(try await authority(app.site, "status").next?.waiting == 0)
                let epoch = app.sallyport.authorization.configuration.epoch ?? 0
                let after = try await authority(app.site, "rotate", "--finish")
                #expect(after.present != before.present && after.former.map(\.certificate) == [before.present])
                #expect(try await eventually { app.sallyport.authorization.configuration.epoch ?? 0 > epoch })
                try await app.sallyport.authorize()
            }
            #expect(failures == [])
        }
    }

    @Test func aRevokedSignerIsReplacedWhileAppsWork() async throws {
        try await RunningApp.run { app in
            let failures = try await loading(app) {
                for generation in [2, 3] as [Int64] {
                    let epoch = app.sallyport.authorization.configuration.epoch ?? 0
                    #expect(try await authority(app.site, "revoke").signers == generation)
                    #expect(try await eventually { app.sallyport.authorization.configuration.epoch ?? 0 > epoch })
                }
                try await app.sallyport.authorize()
            }
            #expect(failures == [])
        }
    }

    @Test func anAppThatWasAwayNeedsANewActivationAndIsTold() async throws {
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        let (there, away) = (try await site.activatedStore("there"), try await site.activatedStore("away"))
        let url = "\(intranet.url)/report.txt"
        try await authority(site, "rotate")
        #expect(try await site.fetch(url, there, "--ca", intranet.authorityFile).status == 0)
        let asked = try await attempt(site, "rotate", "--finish")
        #expect(asked.status == 64)
        #expect(try asked.failure().name == "needsConfirmation")
        try await authority(site, "rotate", "--finish", "--yes")
        #expect(try await site.fetch(url, there, "--ca", intranet.authorityFile).status == 0)
        let (report, _) = try await doctor(away)
        #expect(report.failed.contains("authority") && report.advice.contains("activated anew"))
        // The load fails because the relay is not the known one, and no byte goes another way.
        let seen = try await intranet.log(of: 2).count
        let refused = try await site.fetch(url, away, "--ca", intranet.authorityFile, "--json")
        #expect(try refused.status != 0 && refused.failure().name == "relayNotTrusted")
        #expect(intranet.log.count == seen)
        let new = try await site.activatedStore("new")
        #expect(try await site.fetch(url, new, "--ca", intranet.authorityFile).status == 0)
    }

    @Test func queriesAreAnsweredWithoutARunningGateway() async throws {
        let site = try await Site.start()
        let before = try await authority(site, "status")
        try await site.stopGateway()
        #expect(try await attempt(site, "rotate", "--finish").failure().name == "invalid")
        #expect(try await attempt(site, "rotate", "--yes").status == 64)
        let announced = try await authority(site, "rotate")
        #expect(announced.present == before.present && announced.next != nil)
        #expect(try await attempt(site, "rotate").failure().name == "exists")
        try await site.startGateway()
        #expect(try await authority(site, "status").next?.certificate == announced.next?.certificate)
        let text = try await sallyport("gateway", "authority", "status", "--data", site.data)
        #expect(text.output.contains("have not heard of it: 0") && !text.output.contains("PRIVATE KEY"))
    }
}
