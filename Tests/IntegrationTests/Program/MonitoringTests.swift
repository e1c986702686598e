import Foundation
import Glibc
import TestSupport
import Testing

/// What Docs/Monitoring.md promises, with the program and a real Prometheus.
@Suite(.timeLimit(.minutes(3))) struct MonitoringTests {
    private struct Page {
        let text: String

        init() throws {
            let file = Programs.repository.appending(path: "Docs/Monitoring.md")
            text = try String(contentsOf: file, encoding: .utf8)
        }

        /// The block of YAML that begins with this line.
        func block(_ first: String) throws -> String {
            let blocks = text.components(separatedBy: "```yaml\n").dropFirst()
            let block = blocks.first { $0.hasPrefix(first) }
            return try #require(block?.components(separatedBy: "```").first)
        }

        /// The metrics of the tables: the type of each.
        var types: [String: String] {
            let rows = text.matches(
                of: /(?m)^\| `((?:sallyport_gateway|sallyport_relay|process)_[a-z_]+)` \| ([a-z]+) \|/)
            return Dictionary(rows.map { (String($0.output.1), String($0.output.2)) }) { first, _ in first }
        }
    }

    /// A site whose gateway tells its metrics.
    private struct Observed {
        let site: Site
        let port: UInt16

        static func start(_ options: String...) async throws -> Observed {
            let site = try await Site.start()
            try await site.stopGateway()
            let port = LoopbackPort.free()
            try await site.startGateway(["--metrics", "127.0.0.1:\(port)"] + options)
            return Observed(site: site, port: port)
        }

        func get(_ path: String) async throws -> (status: Int, body: String) {
            try await MonitoringTests.get("http://127.0.0.1:\(port)\(path)")
        }
    }

    private static func get(_ url: String) async throws -> (status: Int, body: String) {
        let outcome = try await ChildProcess(
            "/usr/bin/env", ["curl", "-sgm", "20", "--noproxy", "*", "-w", "\n%{http_code}", url]
        ).outcome()
        let parts = outcome.output.split(separator: "\n", omittingEmptySubsequences: false)
        return (Int(parts.last ?? "") ?? 0, parts.dropLast().joined(separator: "\n"))
    }

    private static func promtool(_ arguments: String..., input: String? = nil) async throws -> Outcome {
        try await ChildProcess("/usr/bin/env", ["promtool"] + arguments, input: input).outcome()
    }

    @Test func thePageListsEveryMetricWithItsType() async throws {
        let text = try await Observed.start().get("/metrics").body
        let types = text.matches(of: /(?m)^# TYPE (\S+) (\S+)$/).map { (String($0.output.1), String($0.output.2)) }
        let listed = try Page().types.filter { !$0.key.hasPrefix("sallyport_relay_") }
        #expect(Dictionary(types) { first, _ in first } == listed)
        let checked = try await Self.promtool("check", "metrics", input: text + "\n")
        #expect(checked.status == 0 && checked.output.isEmpty && checked.error.isEmpty, "\(checked)")
    }

    @Test func theAlertsOfThePageAreRules() async throws {
        let folder = try TemporaryDirectory()
        let page = try Page()
        let rules = try page.block("groups:")
        let checked = try await Self.promtool("check", "rules", folder.write(rules, to: "rules.yml"))
        #expect(checked.status == 0, "\(checked)")
        // They are about metrics that there are.
        let named = rules.matches(of: /sallyport_(?:gateway|relay)_[a-z_]+/).map { String($0.output) }
        let known = page.types.keys.flatMap { [$0, "\($0)_bucket", "\($0)_count", "\($0)_sum"] }
        #expect(!named.isEmpty && Set(named).subtracting(known).isEmpty)
    }

    @Test func prometheusScrapesTheGateway() async throws {
        let observed = try await Observed.start()
        _ = try await observed.site.activatedStore()
        let folder = try TemporaryDirectory()
        let configuration = try Page().block("scrape_configs:")
            .replacing("gateway.example:9464", with: "127.0.0.1:\(observed.port)")
            .replacing("scrape_interval: 15s", with: "scrape_interval: 1s")
        #expect(configuration.contains("127.0.0.1:\(observed.port)") && configuration.contains("interval: 1s"))
        let file = try folder.write(configuration, to: "prometheus.yml")
        let checked = try await Self.promtool("check", "config", file)
        #expect(checked.status == 0, "\(checked)")
        let port = LoopbackPort.free()
        let prometheus = try ChildProcess(
            "/usr/bin/env",
            [
                "prometheus", "--config.file=\(file)", "--storage.tsdb.path=\(folder.file("data"))",
                "--web.listen-address=127.0.0.1:\(port)",
            ])
        for (query, value) in [
            ("up", "1"), ("sallyport_gateway_requests_total{operation=\"activation\",result=\"done\"}", "1"),
            ("sum(sallyport_gateway_instances)", "1"), ("min(sallyport_gateway_health)", "1"),
        ] {
            let isSo = try await eventually(within: .seconds(40)) {
                try await Self.value(of: query, at: port) == value
            }
            #expect(isSo, "\(query): \(prometheus.error.suffix(400))")
        }
    }

    /// What Prometheus' HTTP API says of a query; nil where there is nothing yet.
    private static func value(of query: String, at port: UInt16) async throws -> String? {
        struct Answer: Decodable {
            struct Data: Decodable { let result: [Series] }
            struct Series: Decodable { let value: [Value] }
            enum Value: Decodable {
                case time
                case text(String)

                init(from decoder: any Decoder) throws {
                    let container = try decoder.singleValueContainer()
                    self = (try? container.decode(String.self)).map(Value.text) ?? .time
                }
            }
            let data: Data
        }
        let escaped = query.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let answer = try await get("http://127.0.0.1:\(port)/api/v1/query?query=\(escaped)")
        guard answer.status == 200 else { return nil }
        let result = try JSONDecoder().decode(Answer.self, from: Data(answer.body.utf8)).data.result
        guard result.count == 1, case .text(let value)? = result[0].value.last else { return nil }
        return value
    }

    /// On a disk of a few megabytes, which is filled and emptied while the gateway runs.
    @Test(.enabled(if: getuid() == 0)) func aFullDiskIsToldUntilThereIsRoomAgain() async throws {
        let folder = try TemporaryDirectory()
        let port = LoopbackPort.free()
        // Seen in the mount namespace of the gateway alone, and gone with it.
        let script = """
            set -e
            mount -t tmpfs -o size=16m tmpfs "$1"
            "$2" gateway init --data "$1/gateway" --name localhost
            exec "$2" gateway run --data "$1/gateway" --control 127.0.0.1:0 --relay 127.0.0.1:0 --metrics "$3"
            """
        let gateway = try ChildProcess(
            "/usr/bin/env",
            ["unshare", "--mount", "sh", "-c", script, "sh", folder.path, Programs.gateway, "127.0.0.1:\(port)"])
        let inside = ["nsenter", "--target", "\(gateway.identifier)", "--mount"]
        let filler = folder.file("filler")
        let base = "http://127.0.0.1:\(port)/health"
        #expect(try await eventually(within: .seconds(30)) { try await Self.get("\(base)/ready").status == 200 })
        _ = try await ChildProcess(
            "/usr/bin/env", inside + ["dd", "if=/dev/zero", "of=\(filler)", "bs=4096", "status=none"]
        ).outcome()
        #expect(try await eventually(within: .seconds(30)) { try await Self.get("\(base)/ready").status == 503 })
        let told = try await Self.get("\(base)/ready").body
        #expect(told.contains("\"store\":{\"reason\":\"The disk has less than 1 MiB left.\",\"status\":\"failed\"}"))
        // A restart would not help.
        #expect(try await Self.get("\(base)/live").status == 200)
        _ = try await ChildProcess("/usr/bin/env", inside + ["rm", filler]).outcome()
        #expect(try await eventually(within: .seconds(30)) { try await Self.get("\(base)/ready").status == 200 })
        gateway.signal(SIGTERM)
        #expect(try await gateway.outcome(within: .seconds(30)).status == 0)
    }

    @Test func theLogIsLinesOfJSONWithoutSecrets() async throws {
        let observed = try await Observed.start("--log-format", "json", "--log-level", "trace")
        let site = observed.site
        let link = try await site.link()
        let key = try #require(link.firstMatch(of: /key=([^&\s]+)/)?.output.1)
        #expect(try await site.activate(link, into: site.folder.file("app")).status == 0)
        try await site.stopGateway()
        let lines = site.gateway.error.split(separator: "\n")
        let messages = try lines.map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            let entry = try #require(object as? [String: Any], "\(line)")
            let time = try #require(entry["time"] as? String)
            #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
            #expect(entry["level"] is String && entry["label"] is String)
            return try #require(entry["message"] as? String)
        }
        #expect(messages.contains("An instance was activated."))
        #expect(!site.gateway.error.contains(key))
    }
}
