import Foundation
import TestSupport
import Testing

/// Secrets never show: not in logs, errors, `--json` or the process list.
@Suite struct SecretsTests {
    @Test func plantedSecretsShowNowhere() async throws {
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet, logLevel: "trace")
        let link = try await site.link()
        let key = try #require(link.firstMatch(of: /key=([^&\s]+)/)?.output.1)
        var told: [Outcome] = []
        var commandLines: [String] = []
        let store = site.folder.file("app")
        told.append(try await site.activate(link, into: store))

        let fields = try site.folder.write(
            "Authorization: Bearer PLANTED-TOKEN\nCookie: session=PLANTED-COOKIE\n", to: "fields")
        let body = try site.folder.write("PLANTED-BODY", to: "body")
        for url in [
            "\(intranet.url)/report.txt?secret=PLANTED-QUERY", "https://payroll.corp.example/?secret=PLANTED-QUERY",
        ] {
            let child = try ChildProcess(
                Programs.built("sallyport"),
                [
                    "fetch", url, "--store", store, "--ca", intranet.authorityFile, "-H", "@\(fields)", "-d",
                    "@\(body)", "-v", "--json",
                ])
            commandLines.append(
                (try? String(contentsOfFile: "/proc/\(child.identifier)/cmdline", encoding: .utf8)) ?? "")
            told.append(try await child.outcome())
        }
        told.append(try await sallyport("status", "--store", store, "--json"))
        let said = told.flatMap { [$0.output, $0.error] } + [site.gateway.output, site.gateway.error]
        for text in said {
            for secret in ["PLANTED-TOKEN", "PLANTED-COOKIE", "PLANTED-BODY", "PLANTED-QUERY", String(key)] {
                #expect(!text.contains(secret), "\(secret) shows")
            }
        }
        for line in commandLines {
            #expect(!line.contains("PLANTED-TOKEN") && !line.contains("PLANTED-BODY") && !line.contains(key))
        }
        #expect(!site.gateway.error.isEmpty, "The gateway logged at trace.")
    }
}
