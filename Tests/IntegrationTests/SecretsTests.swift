import Foundation
import HTTPTypes
import Sallyport
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
                    "@\(body)", "-v", "--json", "--record", site.folder.file("records"),
                ])
            commandLines.append(
                (try? String(contentsOfFile: "/proc/\(child.identifier)/cmdline", encoding: .utf8)) ?? "")
            told.append(try await child.outcome())
        }
        told.append(try await sallyport("status", "--store", store, "--json"))
        let records = try String(contentsOfFile: site.folder.file("records"), encoding: .utf8)
        #expect(records.split(separator: "\n").count == 2)
        let said = told.flatMap { [$0.output, $0.error] } + [site.gateway.output, site.gateway.error, records]
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

    /// The same for an app that logs at trace, and for what it is told.
    @Test func plantedSecretsShowNotInTheAppsLog() async throws {
        let intranet = try await Intranet.start()
        let site = try await Site.start(intranet)
        let link = try await site.link()
        let key = try #require(link.firstMatch(of: /key=([^&\s]+)/)?.output.1)
        let log = Recorder()
        let password = "PLANTED-PASSPHRASE-of-24-bytes"
        let sallyport = try await Sallyport.open(
            store: site.folder.file("app"), protectedBy: .passphrase(password),
            application: .init(Site.app, version: Site.version), logger: log.logger)
        try await sallyport.authorization.activate(link: link)
        try await sallyport.authorize()
        var configuration = SessionConfiguration()
        configuration.trust = try .systemAnd(pemFile: intranet.authorityFile)
        let session = sallyport.makeSession(configuration)
        let urls = ["report.txt", "away", "missing"].map { "\(intranet.url)/\($0)?secret=PLANTED-QUERY" }
        for url in urls + ["https://payroll.corp.example/?secret=PLANTED-QUERY", "http://[PLANTED-QUERY"] {
            do {
                var request = try LoadRequest(.post, RequestURL(url), body: .text("PLANTED-BODY"))
                request.headerFields[.authorization] = "Bearer PLANTED-TOKEN"
                request.headerFields[.cookie] = "session=PLANTED-COOKIE"
                log.append("\(request) \(String(reflecting: request))")
                let answer = try await session.data(for: request, upTo: .mebibytes(1))
                log.append("\(answer.head.status)")
            } catch {
                log.append("\(error) \(String(reflecting: error)) \(error.localizedDescription)")
            }
        }
        for path in ["cookies", "seen"] {
            var request = try LoadRequest.get("\(intranet.url)/\(path)")
            request.options.isRecorded = true
            let answer = try await session.bytes(for: request)
            _ = try await answer.body.collect(upTo: .mebibytes(1))
            log.append("\(answer.record?.json ?? "")")
        }
        let cookies = try await sallyport.cookies.list()
        #expect(cookies.map { $0.value.reveal() }.contains("PLANTED-COOKIE"))
        log.append("\(cookies) \(String(reflecting: cookies))")
        log.append("\(sallyport) \(String(reflecting: sallyport.authorization)) \(configuration)")
        await sallyport.shutdown()
        let said = log.text
        #expect(said.contains("trace") && said.contains(Intranet.name), "The app logged at trace.")
        let keys = String(decoding: try Data(contentsOf: URL(filePath: site.folder.file("app/keys"))), as: UTF8.self)
        #expect(!keys.contains(password))
        for secret in ["PLANTED-", "PRIVATE KEY", String(key)] {
            #expect(!said.contains(secret), "\(secret) shows: \(said)")
        }
    }
}
