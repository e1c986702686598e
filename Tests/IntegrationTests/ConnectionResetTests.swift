import Glibc
import Sallyport
import SallyportCore
import TestSupport
import Testing

/// An app that runs, its link, its names, what it can find out, and all of its connections closed at once.
@Suite(.timeLimit(.minutes(3))) struct ConnectionResetTests {
    private struct App {
        let site: Site
        let intranet: Intranet
        let sallyport: Sallyport
        let session: SecureSession
    }

    private func withApp(_ body: (App) async throws -> Void) async throws {
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        let sallyport = try await Sallyport.open(
            store: site.folder.file("app"), protectedBy: .keyFile(site.folder.file("app.key")),
            application: .init(Site.app, version: Site.version))
        try await sallyport.authorization.activate(link: site.link())
        try await sallyport.authorize()
        let running = Task { try? await sallyport.run() }
        var configuration = SessionConfiguration()
        configuration.trust = try .systemAnd(pemFile: intranet.authorityFile)
        let app = App(
            site: site, intranet: intranet, sallyport: sallyport, session: sallyport.makeSession(configuration))
        #expect(try await eventually { sallyport.reachability.isPushChannelAvailable })
        do {
            try await body(app)
        } catch {
            running.cancel()
            await sallyport.shutdown()
            throw error
        }
        running.cancel()
        await sallyport.shutdown()
        await running.value
    }

    @Test func whatIsInFlightEndsAndTheNextConnectsAnew() async throws {
        try await withApp { (app: App) async throws -> Void in
            #expect(app.sallyport.reachability.status == .reachable(via: .loopback))
            let slow = try await app.session.bytes(for: .get("\(app.intranet.url)/slow"))
            var body = slow.body.makeAsyncIterator()
            _ = try await body.next()
            // Another connection idles in the pool.
            _ = try await app.session.data(for: .get("\(app.intranet.url)/report.txt"), upTo: .kilobytes(4))
            #expect(app.sallyport.diagnostics.forceResetAllConnections())
            await #expect(throws: LoadError(.connectionLost, "")) { while try await body.next() != nil {} }
            let (_, answer) = try await app.session.data(
                for: .get("\(app.intranet.url)/report.txt"), upTo: .kilobytes(4))
            #expect(answer.status.code == 200)
            // The event stream stands again before anybody could miss it.
            try await Task.sleep(for: .seconds(4))
            #expect(app.sallyport.reachability.isPushChannelAvailable)
            #expect(app.sallyport.reachability.status == .reachable(via: .loopback))
        }
    }

    @Test func namesAndServersAreSeenFromInside() async throws {
        try await withApp { (app: App) async throws -> Void in
            let answer = try await app.sallyport.names.lookUp(Intranet.name)
            #expect(answer.addresses.map(\.description) == [Intranet.address])
            await #expect(throws: NameError(.hostNotListed, "")) {
                _ = try await app.sallyport.names.lookUp("payroll.corp.example")
            }
            let diagnostics = app.sallyport.diagnostics
            let inside = try await diagnostics.reach(Intranet.name, port: app.intranet.port, isSecure: false)
            #expect(inside.code == .noError && inside.attempts.count == 1 && inside.decision?.route == .relay)
            let untrusted = try await diagnostics.reach(Intranet.name, port: app.intranet.port)
            #expect(untrusted.code == .notTrusted)
            let denied = try await diagnostics.reach("payroll.corp.example", port: 443)
            #expect(denied.code == .refused && denied.attempts.isEmpty)
            #expect(await diagnostics.reachConsole().code == .noError)
            let settings = await diagnostics.currentSettings()
            #expect(settings.contains("server \(Intranet.name):\(app.intranet.port): relay"))
            #expect(settings.contains("link: reachable (loopback), network available, push channel available"))
            #expect(!settings.contains("PRIVATE"))
        }
    }

    /// It waits for the relay, which nobody runs, and goes on when the gateway is there again.
    @Test func aLoadThatWaitsGoesOnWhenTheGatewayReturns() async throws {
        try await withApp { (app: App) async throws -> Void in
            app.site.gateway.signal(SIGKILL)
            #expect(try await eventually { app.sallyport.reachability.status == .notReachable })
            var request = try LoadRequest.get("\(app.intranet.url)/report.txt")
            request.options.waitsForConnectivity = true
            let asked = request
            let load = Task { try await app.session.data(for: asked, upTo: .kilobytes(4)) }
            let again = try ChildProcess(
                Programs.built("sallyport"),
                [
                    "gateway", "run", "--data", app.site.data, "--control", app.site.ready.control, "--relay",
                    app.site.ready.relay, "--egress", Intranet.egress, "--json",
                ])
            let ready = try await eventually(within: .seconds(30)) {
                again.output.hasSuffix("\n") || !again.isRunning
            }
            #expect(ready && again.isRunning, "\(again.error)")
            #expect(try await eventually(within: .seconds(6)) { app.sallyport.reachability.status.isReachable })
            let (body, answer) = try await load.value
            #expect(answer.status.code == 200 && String(decoding: body, as: UTF8.self) == "The figures of today.\n")
            again.signal(SIGTERM)
        }
    }

    @Test func withoutItsGatewayTheConsoleIsOutOfReach() async throws {
        try await withApp { (app: App) async throws -> Void in
            app.site.gateway.signal(SIGKILL)
            #expect(try await eventually { app.sallyport.reachability.status == .notReachable })
            #expect(app.sallyport.reachability.infrastructure == .unreachable)
            #expect(await app.sallyport.diagnostics.reachConsole().code == .notReachable)
            await #expect(throws: NameError(.networkError, "")) {
                _ = try await app.sallyport.names.lookUp(Intranet.name)
            }
        }
    }
}
