import Foundation
import SallyportCore
import TestSupport
import Testing

/// `fetch` with servers behind a real relay that redirect, or ask for a password over plain http.
@Suite(.timeLimit(.minutes(3))) struct RedirectFetchTests {
    private struct Report: Decodable {
        var status: Int
        var withheld: [String]?
    }

    /// A gateway through which an app reaches servers on this machine under internal names.
    private func site(_ servers: (name: String, port: UInt16)...) async throws -> (site: Site, store: String) {
        let site = try await Site.start()
        for server in servers {
            try await site.admin(
                "server", "add", "\(server.name):\(server.port)", "--app", Site.app, "--address", "127.0.0.1")
        }
        return (site, try await site.activatedStore())
    }

    private func redirect(to location: String) -> String {
        "HTTP/1.1 307 T\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n"
    }

    private func port(of origin: RecordingOrigin) throws -> UInt16 {
        try #require(try origin.url().endpoint?.port)
    }

    @Test func fieldsGoNoFurtherThanTheirScope() async throws {
        let last = try RecordingOrigin()
        let lastPort = try port(of: last)
        let login = try RecordingOrigin(redirect(to: "http://api.corp.example:\(lastPort)/end"))
        let loginPort = try port(of: login)
        let (site, store) = try await site(("login.corp.example", loginPort), ("api.corp.example", lastPort))
        let url = "http://login.corp.example:\(loginPort)/"
        let field = "X-Api-Key: planted"
        let bound = try await site.fetch(url, store, "--json", "-H", field, "-H", "Authorization: Bearer planted")
        let report = try bound.json(Report.self)
        #expect(report.status == 200 && report.withheld == ["x-api-key", "authorization"], "\(bound)")
        #expect(last.heads.count == 1 && !last.heads[0].contains("planted"))
        for scope in ["site", "api.corp.example", "api.corp.example:\(lastPort)"] {
            let wider = try await site.fetch(url, store, "--json", "-H", field, "--header-scope", scope)
            #expect(try wider.json(Report.self).withheld == nil)
            #expect(last.heads.last?.contains(field) == true, "\(scope)")
        }
        let other = try await site.fetch(url, store, "--json", "-H", field, "--header-scope", "api.corp.example:1")
        #expect(try other.json(Report.self).withheld == ["x-api-key"] && last.heads.last?.contains("planted") == false)
    }

    @Test func aRedirectFromHTTPSToHTTPNeedsAFlag() async throws {
        let plain = try RecordingOrigin()
        let plainPort = try port(of: plain)
        let authority = try TestAuthority()
        let secure = try RecordingOrigin(
            redirect(to: "http://plain.corp.example:\(plainPort)/"),
            with: TestTLS(authority.server(names: ["secure.corp.example"])))
        let securePort = try port(of: secure)
        let (site, store) = try await site(("secure.corp.example", securePort), ("plain.corp.example", plainPort))
        let ca = try site.folder.write(PEM.certificate(authority.der), to: "ca.pem")
        let url = "https://secure.corp.example:\(securePort)/"
        let refused = try await site.fetch(url, store, "--ca", ca, "--json", "-d", "planted")
        #expect(refused.status == 76)
        #expect(try refused.failure().name == "insecureRedirect", "\(refused)")
        #expect(plain.acceptedConnections == 0 && secure.heads.count == 1)
        let told = try await site.fetch(url, store, "--ca", ca)
        #expect(told.status == 76 && told.error.contains("--insecure-redirects"), "\(told)")
        let allowed = try await site.fetch(url, store, "--ca", ca, "--json", "-d", "planted", "--insecure-redirects")
        #expect(try allowed.json(Report.self).status == 200)
        #expect(plain.heads.first?.hasPrefix("POST / ") == true)
    }

    @Test func aPasswordIsSaidOverPlainHTTPOnlyWhereItIsAskedFor() async throws {
        let origin = try RecordingOrigin(
            "HTTP/1.1 401 U\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\r\n")
        let port = try port(of: origin)
        let (site, store) = try await site(("old.corp.example", port))
        let file = try site.folder.write("secret\n", to: "password")
        let url = "http://old.corp.example:\(port)/"
        let user = ["--user", "ann", "--password-file", file]
        let program = Programs.built("sallyport")
        func fetch(_ options: String...) async throws -> Outcome {
            try await ChildProcess(program, ["fetch", url, "--store", store] + user + options).outcome()
        }
        let told = try await fetch()
        #expect(told.status == 0 && told.error.contains("--auth basic"), "\(told)")
        let report = try await fetch("--json").json(Report.self)
        #expect(report.status == 401 && report.withheld == ["authorization"])
        #expect(origin.heads.count == 2 && origin.heads.allSatisfy { !$0.contains("Authorization") })
        let asked = try await fetch("--auth", "basic")
        #expect(asked.status == 0 && !asked.error.contains("--auth basic"))
        #expect(origin.heads.last?.contains("Authorization: Basic ") == true)
    }
}
