import Foundation
import Sallyport
import SallyportCore
import SallyportLoading
import SallyportURLLoading
import TestSupport
import Testing

/// Routes with a secondary cluster: a real gateway whose relay stands in for a cluster that is not there.
@Suite(.timeLimit(.minutes(3))) struct SecondaryClusterTests {
    /// Lists the server by a cluster where nothing listens, with the gateway's own as the secondary one.
    private static func listing(_ server: TestServer, secondary: Bool = true) -> (Site) async throws -> Void {
        { site in
            try await site.admin("cluster", "set", "gone", "localhost:\(LoopbackPort.free())")
            try await list(server, secondary: secondary, at: site)
        }
    }

    private static func list(_ server: TestServer, secondary: Bool, at site: Site) async throws {
        let second = secondary ? ["--secondary", "main"] : []
        let order = ["server", "add", "127.0.0.1:\(server.port)", "--route", "relay:gone"] + second
        let outcome = try await site.tryAdmin(order)
        try #require(outcome.status == 0, "\(outcome.error)")
    }

    private static func web() throws -> TestServer {
        try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
    }

    private static func recorded(_ server: TestServer, method: String = "GET") throws -> LoadRequest {
        var request = LoadRequest(method == "GET" ? .get : .post, try server.url())
        if method != "GET" { request.body = .text("body") }
        request.options.isRecorded = true
        return request
    }

    @Test(arguments: ["GET", "POST"])
    func theSecondaryIsUsedWhileNoRelayOfTheFirstIsReached(_ method: String) async throws {
        let server = try Self.web()
        try await RunningApp.run(preparing: Self.listing(server)) { app in
            let explained = await app.session.explain(try Self.recorded(server, method: method))
            #expect(explained.cluster == "gone" && explained.secondary == "main" && explained.refusal == nil)
            let answer = try await app.session.data(for: Self.recorded(server, method: method))
            #expect(answer.body == Array("ok".utf8) && answer.facts.decision?.route == .relay)
            let record = try #require(answer.record)
            #expect(record.hops.map(\.route) == ["relay:gone", "relay"])
            #expect(record.hops[0].error?.code == "relayUnreachable" && record.hops[1].status == 200)
            #expect(record.decisions.contains { $0.kind == .retry && $0.value == "relayUnreachable" })
            // From now on the first one is not waited for.
            let again = try await app.session.data(for: Self.recorded(server, method: method))
            #expect(again.record?.hops.map(\.route) == ["relay"])
        }
    }

    @Test func socketsUseItToo() async throws {
        let server = try Self.web()
        try await RunningApp.run(preparing: Self.listing(server)) { app in
            let socket = try await app.sallyport.sockets.connect(to: "127.0.0.1:\(server.port)", isSecure: false)
            try await socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await socket.read()?.isEmpty == false)
            // Its cluster is none of the route's any more.
            try await Self.list(server, secondary: false, at: app.site)
            let error = await #expect(throws: LoadError.self) { try await socket.read() }
            #expect(error?.code == .refusedByPolicy, "\(String(describing: error))")
            let load = await #expect(throws: LoadError.self) { try await app.session.data(for: Self.recorded(server)) }
            #expect(load?.code == .relayUnreachable)
        }
    }

    @Test func aRelayThatRefusesIsNoReasonForTheSecondary() async throws {
        let server = try Self.web()
        let prepare: (Site) async throws -> Void = { site in
            try await site.admin("cluster", "set", "gone", "localhost:\(LoopbackPort.free())")
            let place = "127.0.0.1:\(server.port)"
            try await site.admin("server", "add", place, "--route", "relay", "--secondary", "gone")
        }
        try await RunningApp.run(preparing: prepare) { app in
            let answer = try await app.session.data(for: Self.recorded(server))
            #expect(answer.record?.hops.map(\.route) == ["relay"])
            server.stop()
            let error = await #expect(throws: LoadError.self) {
                try await app.session.data(for: Self.recorded(server))
            }
            #expect(error?.code != .relayUnreachable && error?.step != .connect, "\(String(describing: error))")
        }
    }

    @Test func ifNoRelayOfEitherIsReachedTheLoadSaysSo() async throws {
        let server = try Self.web()
        let prepare: (Site) async throws -> Void = { site in
            try await site.admin("cluster", "set", "gone", "localhost:\(LoopbackPort.free())")
            try await site.admin("cluster", "set", "lost", "localhost:\(LoopbackPort.free())")
            let place = "127.0.0.1:\(server.port)"
            try await site.admin("server", "add", place, "--route", "relay:gone", "--secondary", "lost")
        }
        try await RunningApp.run(preparing: prepare) { app in
            let error = await #expect(throws: LoadError.self) {
                try await app.session.data(for: Self.recorded(server))
            }
            #expect(error?.code == .relayUnreachable && server.acceptedConnections == 0)
        }
    }

    @Test func theProgramExplainsAndFetchesByIt() async throws {
        struct Explained: Decodable {
            var route: String
            var cluster: String
            var secondary: String
            var text: String
        }
        let server = try Self.web()
        let site = try await Site.start()
        try await Self.listing(server)(site)
        let store = try await site.activatedStore()
        let url = "http://127.0.0.1:\(server.port)/"
        #expect(try await site.fetch(url, store).output == "ok")
        let explained = try await sallyport("explain", url, "--store", store, "--json").json(Explained.self)
        #expect(explained.route == "relay" && explained.cluster == "gone" && explained.secondary == "main")
        #expect(explained.text.contains("relay:gone, else relay (server"), "\(explained.text)")
        let table = try await site.admin("server", "list").output
        #expect(table.contains("relay:gone, else relay "), "\(table)")
        let used = try await site.tryAdmin(["cluster", "remove", "gone"])
        #expect(used.status == 64)
    }
}
