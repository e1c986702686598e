import Foundation
import HTTPTypes
import Sallyport
import SallyportAuthorization
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportReachability
import SallyportTransport
import SallyportURLLoading
import SallyportWire
import TestSupport
import Testing

/// A running app, and the loss of the gateway that it uses: nothing of what may be repeated fails, and the app need not
/// notice.
@Suite(.timeLimit(.minutes(6))) struct FleetFailoverTests {
    enum Loss: String, CaseIterable { case killed, stopped }
    /// What the app uses of the gateway that is lost.
    enum Use: String, CaseIterable { case control, relay }

    /// An app activated at one gateway of the fleet, that runs.
    private struct App {
        let fleet: Fleet
        let sallyport: Sallyport
        let session: SecureSession
        let running: Task<Void, Never>

        init(_ fleet: Fleet) async throws {
            self.fleet = fleet
            let sallyport = try await FleetFailoverTests.open(fleet)
            self.sallyport = sallyport
            let link = try await fleet.admin(0, "key", "issue", Site.user, Site.app)
            try await sallyport.authorization.activate(link: link)
            try await sallyport.authorize()
            running = Task { _ = try? await sallyport.run() }
            var configuration = SessionConfiguration()
            configuration.trust = try .systemAnd(pemFile: fleet.intranet.authorityFile)
            session = sallyport.makeSession(configuration)
            let isOpen = try await eventually { sallyport.reachability.isPushChannelAvailable }
            try #require(isOpen)
        }

        /// The number of the gateway that the app asks, or through whose relay its loads go.
        func used(for use: Use) async throws -> Int {
            switch use {
            case .control:
                let first = try #require(await sallyport.authorization.gatewaysToAsk().first)
                return try fleet.control(0) == first.description ? 0 : 1
            case .relay:
                let answer = try await session.data(for: LoadRequest.get("\(fleet.intranet.url)/report.txt"))
                let relay = try #require(answer.facts.hops.last?.connection.relay)
                return try Endpoint(fleet.ready[0].relay).port == relay.port ? 0 : 1
            }
        }

        func end() async {
            running.cancel()
            await sallyport.shutdown()
            await running.value
        }
    }

    private static func open(_ fleet: Fleet) async throws -> Sallyport {
        try await Sallyport.open(
            store: fleet.folder.file("app"), protectedBy: .keyFile(fleet.folder.file("app.key")),
            application: .init(Site.app, version: Site.version))
    }

    /// What became of a stream of loads.
    private struct Tally: Sendable {
        var done = 0
        var failures: [String] = []
        var longest = Duration.zero
        var isOver = false
    }

    private static func load(_ app: App, _ tally: Lock<Tally>) async {
        let url = "\(app.fleet.intranet.url)/report.txt"
        while !tally.withLock({ $0.isOver }) {
            let start = ContinuousClock.now
            do {
                let answer = try await app.session.data(for: LoadRequest.get(url))
                tally.withLock { tally in
                    tally.done += 1
                    tally.longest = max(tally.longest, start.duration(to: .now))
                    if answer.head.status != .ok { tally.failures.append("\(answer.head.status)") }
                }
            } catch {
                tally.withLock { $0.failures.append("\(error)") }
            }
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    @Test(arguments: Loss.allCases, Use.allCases)
    func anAppOutlivesTheGatewayThatItUses(_ loss: Loss, _ use: Use) async throws {
        let app = try await App(Fleet.start())
        let used = try await app.used(for: use)
        let other = 1 - used
        let tally = Lock(Tally())
        let states = Lock<[ReachabilityState]>([])
        let seen = Task {
            for await state in app.sallyport.reachability.changes() { states.withLock { $0.append(state) } }
        }
        let loads = Task {
            await withDiscardingTaskGroup { group in
                for _ in 0..<4 { group.addTask { await Self.load(app, tally) } }
            }
        }
        #expect(try await eventually { tally.withLock { $0.done } > 40 })
        let token = try await app.sallyport.authTokens.token(challenge: "c1", serverName: "app.example")
        let victim = app.fleet.gateways[used]
        if loss == .killed { victim.signal(SIGKILL) } else { try await victim.pause() }
        let start = ContinuousClock.now

        let file = try app.fleet.folder.write("after", to: "after.txt")
        try await app.fleet.admin(other, "app", "config", Site.app, "-f", file)
        let isTold = try await eventually(within: .seconds(30)) {
            app.sallyport.authorization.configuration.application?.config == "after"
        }
        #expect(isTold, "the other gateway's events arrive")
        print("\(loss), \(use): told after \(start.duration(to: .now))")
        let later = try await app.sallyport.authTokens.token(challenge: "c2", serverName: "app.example")
        for text in [token.text.reveal(), later.text.reveal()] {
            #expect(try await Self.verdict(on: text, at: app.fleet.control(other)) == "100 OK")
        }
        let before = tally.withLock { $0.done }
        #expect(try await eventually(within: .seconds(30)) { tally.withLock { $0.done } > before + 200 })
        tally.withLock { $0.isOver = true }
        await loads.value
        let result = tally.withLock { $0 }
        print(
            "\(loss), \(use): \(result.done) loads, \(result.failures.count) failed, the longest took \(result.longest)"
        )
        #expect(result.failures.isEmpty, "\(result.failures.prefix(3))")
        seen.cancel()
        let told = states.withLock { $0 }
        // On a busy machine the fail-over may take longer than the time within which a loss is not told.
        if Soak.isOn {
            #expect(told.allSatisfy { $0.status.isReachable && $0.isPushChannelAvailable }, "\(told)")
        }
        let isBack = try await eventually(within: .seconds(30)) {
            let state = app.sallyport.reachability
            return state.status.isReachable && state.isPushChannelAvailable
        }
        #expect(isBack, "\(told)")

        await app.end()
        let again = try await Self.open(app.fleet)
        try await again.authorize()
        #expect(again.authorization.configuration.application?.config == "after")
        await again.shutdown()
        victim.signal(SIGKILL)
    }

    private static func verdict(on token: String, at control: String) async throws -> String? {
        let transport = Transport()
        var request = ExchangeRequest(.get, try RequestURL("https://\(control)\(AuthTokenAPI.Path.verify)"))
        request.headerFields[try #require(HTTPField.Name(AuthTokenAPI.Field.token))] = token
        request.deadline = .now + .seconds(10)
        let response = try await transport.exchange(request, via: ConnectionPath(trust: .unverified))
        let verdict = response.head.headerFields[try #require(HTTPField.Name(AuthTokenAPI.Field.code))]
        response.body.discard()
        await transport.shutdown()
        return verdict
    }

    @Test func theGatewaysOfAFleetAreListedAndOneThatHasEndedIsRemoved() async throws {
        let fleet = try await Fleet.start()
        struct Entry: Decodable {
            var id: String
            var control: String
            var state: String
            var isThis: Bool
        }
        func entries() async throws -> [Entry] {
            let text = try await fleet.admin(0, "gateway", "list", "--json")
            return try JSONDecoder().decode([Entry].self, from: Data(text.utf8))
        }
        let controls = try [fleet.control(0), fleet.control(1)]
        #expect(Set(try await entries().map(\.control)) == Set(controls))
        #expect(try await entries().allSatisfy { $0.state == "running" })
        fleet.gateways[1].signal(SIGTERM)
        _ = try await fleet.gateways[1].outcome(within: .seconds(30))
        #expect(try await entries().first { $0.control == controls[1] }?.state == "ended")
        #expect(try await fleet.admin(0, "gateway", "list").contains("localhost (this)"))
        #expect(try await fleet.admin(0, "gateway", "remove", controls[1]) == "removed gateway \(controls[1])")
        #expect(try await entries().map(\.control) == [controls[0]])
    }
}
