import Foundation
import Sallyport
import SallyportCore
import SallyportLoading
import SallyportURLLoading
import TestSupport
import Testing

/// Names without a domain, by the administrator's default domains: a real gateway and a server inside.
@Suite(.timeLimit(.minutes(2))) struct ShortNameTests {
    private static func domains(_ site: Site) async throws {
        try await site.admin("default-domains", "set", "lab.example", "corp.example")
    }

    @Test func loadsSocketsAndExplanationsHaveTheWholeName() async throws {
        try await RunningApp.run(preparing: Self.domains) { app in
            let short = "https://intranet:\(app.intranet.port)/report.txt"
            let whole = "https://\(Intranet.name):\(app.intranet.port)/report.txt"
            var request = try LoadRequest.get(short)
            request.options.isRecorded = true
            // The certificate is for the whole name.
            let answer = try await app.session.data(for: request)
            #expect(answer.head.status == .ok && "\(answer.url)" == whole)
            #expect(answer.record?.decisions.contains { $0.kind == .name && $0.value == Intranet.name } == true)
            let explained = await app.session.explain(request)
            #expect(explained.url == whole && explained.refusal == nil)
            #expect(explained.decisions.first?.kind == .name)
            let explanation = try app.sallyport.authorization.explain(short)
            #expect(explanation.completed == "\(Intranet.name):\(app.intranet.port)")
            #expect(explanation.route == "relay" && explanation.rule == "server \(Intranet.name):\(app.intranet.port)")
            var configuration = SocketConfiguration()
            configuration.trust = try .systemAnd(pemFile: app.intranet.authorityFile)
            let socket = try await app.sallyport.sockets.connect(
                to: "intranet:\(app.intranet.port)", isSecure: true, configuration)
            try await socket.write("GET /report.txt HTTP/1.0\r\nHost: \(Intranet.name)\r\n\r\n")
            #expect(try await socket.read()?.starts(with: "HTTP/1.1 200".utf8) == true)
            socket.reset()
        }
    }

    @Test func aPinOfAShortNameHoldsForTheSocket() async throws {
        try await RunningApp.run(preparing: Self.domains) { app in
            var configuration = SocketConfiguration()
            configuration.trust = try .systemAnd(pemFile: app.intranet.authorityFile)
            let keys = try [7, 8].map { try #require(PublicKeyPin(sha256: [UInt8](repeating: $0, count: 32))) }
            try configuration.pin(to: keys[0], backups: [keys[1]])
            let error = await #expect(throws: LoadError.self) {
                try await app.sallyport.sockets.connect(
                    to: "intranet:\(app.intranet.port)", isSecure: true, configuration)
            }
            #expect(error?.code == .serverNotTrusted, "\(String(describing: error))")
        }
    }

    @Test func withoutDefaultDomainsAShortNameIsRefused() async throws {
        try await RunningApp.run { app in
            let short = "https://intranet:\(app.intranet.port)/report.txt"
            let error = await #expect(throws: LoadError.self) { try await app.session.data(for: .get(short)) }
            #expect(error?.code == .refusedByPolicy)
            try await Self.domains(app.site)
            #expect(try await eventually { app.sallyport.authorization.configuration.epoch != nil })
            #expect(
                try await eventually {
                    (try? await app.session.data(for: .get(short)).head.status) == .ok
                })
            try await app.site.admin("default-domains", "clear")
            #expect(
                try await eventually {
                    (try? app.sallyport.authorization.explain(short).completed) == .some(nil)
                })
        }
    }

    @Test func redirectsToShortNamesAreCompletedToo() async throws {
        let server = try TestServer { connection in
            connection.answerAll("HTTP/1.1 302 Found\r\nLocation: http://next/\r\nContent-Length: 0\r\n\r\n")
        }
        let prepare: (Site) async throws -> Void = { site in
            try await Self.domains(site)
            try await site.admin("server", "add", "127.0.0.1:\(server.port)", "--route", "direct")
        }
        try await RunningApp.run(preparing: prepare) { app in
            let error = await #expect(throws: LoadError.self) {
                try await app.session.data(for: LoadRequest(.get, server.url()))
            }
            #expect(error?.code == .refusedByPolicy && "\(String(describing: error))".contains("next.lab.example:80"))
        }
    }

    @Test func theProgramExplainsWhatAShortNameStandsFor() async throws {
        struct Explained: Decodable {
            var completed: String?
            var rule: String
            var tls: [String]?
        }
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        try await Self.domains(site)
        let store = try await site.activatedStore()
        let url = "https://intranet:\(intranet.port)/report.txt"
        let fetched = try await site.fetch(url, store, "--ca", intranet.authorityFile)
        #expect(fetched.status == 0, "\(fetched.error)")
        let explained = try await sallyport("explain", url, "--store", store, "--json").json(Explained.self)
        #expect(explained.completed == "\(Intranet.name):\(intranet.port)" && explained.tls?.isEmpty == false)
        #expect(try await site.admin("show").output.contains("defaultDomains:\n- lab.example\n- corp.example"))
    }
}
