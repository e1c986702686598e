import Foundation
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import SallyportWire
import TestSupport
import Testing

/// `sallyport token` as people and scripts use it, with a gateway that runs.
@Suite(.timeLimit(.minutes(3))) struct TokenCommandTests {
    private struct Token: Decodable {
        var token: String
        var expires: Int64
        var bound: Bool
        var proof: String?
    }

    private struct Verified: Decodable {
        var verdict: String
        var code: Int
        var user: String
        var server: String
        var challenge: String
        var application: String
        var instance: String
    }

    /// The gateway's authority as an administrator of an app server obtains it, after comparing the fingerprint.
    private static func authority(_ site: Site) async throws -> String {
        let transport = Transport()
        var request = ExchangeRequest(
            .get, try RequestURL("https://\(control(site))\(ControlAPI.Path.authorities)"), headerFields: [:], body: nil
        )
        request.deadline = .now + .seconds(10)
        let response = try await transport.exchange(request, via: ConnectionPath(trust: .unverified))
        let body = try await response.body.collect(upTo: .kibibytes(64))
        await transport.shutdown()
        let der = try #require(CertificateBag(parsing: ESTBody.decode(body)).certificates.first)
        return try site.folder.write(PEM.certificate(der), to: "authority.pem")
    }

    private static func control(_ site: Site) throws -> String {
        "localhost:\(try Endpoint(site.ready.control).port)"
    }

    @Test func aPassphraseFromStandardInputOpensTheStore() async throws {
        let site = try await Site.start()
        let link = try await site.link()
        let (file, store) = (try site.folder.write(link, to: "link"), site.folder.file("app"))
        func run(_ words: String...) async throws -> Outcome {
            try await ChildProcess(
                Programs.built("sallyport"), words + ["--store", store, "--passphrase-file", "-", "--json"],
                input: "correct horse\n"
            ).outcome()
        }
        let activated = try await run("activate", "--link-file", file)
        try #require(activated.status == 0, "\(activated.error)")
        let got = try await run("token", "get")
        try #require(got.status == 0, "\(got.error)")
        #expect(try !got.json(Token.self).token.isEmpty)
        // What follows the passphrase is no link: standard input is one thing.
        let refused = try await ChildProcess(
            Programs.built("sallyport"),
            ["activate", "-", "--store", site.folder.file("other"), "--passphrase-file", "-", "--json"], input: link
        ).outcome()
        #expect(try refused.status == 64 && refused.failure().message.hasPrefix("Standard input is given twice"))
    }

    @Test func aTokenIsGotAndVerifiedBothWays() async throws {
        let site = try await Site.start()
        let store = try await site.activatedStore()
        let ca = try await Self.authority(site)
        let got = try await sallyport(
            "token", "get", "--challenge", "Abc1", "--server", "app.example", "--store", store, "--json")
        try #require(got.status == 0, "\(got.error)")
        let token = try got.json(Token.self)
        #expect(!token.bound && token.proof == nil && token.expires > Int64(Date.now.timeIntervalSince1970))
        let origin = "https://\(try Self.control(site))"
        let ways = [["--keys", "\(origin)/.well-known/jwks.json"], ["--online", "\(origin)/verifyGDAuthToken"]]
        for way in ways {
            func verify(_ options: String..., text: String = token.token) async throws -> Outcome {
                try await ChildProcess(
                    Programs.built("sallyport"), ["token", "verify", "--ca", ca, "--json"] + way + options, input: text
                ).outcome()
            }
            let good = try await verify("--user", Site.user, "--server", "app.example", "--challenge", "Abc1")
            try #require(good.status == 0, "\(good.error)")
            let verified = try good.json(Verified.self)
            #expect(verified.verdict == "valid" && verified.code == 100 && verified.user == Site.user)
            #expect(
                verified.application == Site.app && verified.challenge == "Abc1" && verified.server == "app.example")
            for (options, name) in [
                (["--user", "bob", "--server", "app.example"], "wrongUser"),
                (["--user", Site.user, "--server", "other.example"], "wrongServer"),
                (["--user", Site.user], "wrongServer"),
                (["--user", Site.user, "--server", "app.example", "--challenge", "x"], "wrongChallenge"),
            ] {
                let bad = try await ChildProcess(
                    Programs.built("sallyport"), ["token", "verify", "--ca", ca, "--json"] + way + options,
                    input: token.token
                ).outcome()
                #expect(try bad.status == 77 && bad.failure().name == name)
            }
            // Space around it is none of the token's; space in it is.
            let spaced = try await verify("--user", Site.user, "--server", "app.example", text: " \(token.token)\r\n")
            #expect(spaced.status == 0, "\(spaced.error)")
            let broken = try await verify(
                "--user", Site.user, "--server", "app.example", text: token.token.replacing(".", with: ".\n"))
            #expect(try broken.status == 77 && broken.failure().code == 400)
            let malformed = try await verify(
                "--user", Site.user, "--server", "app.example", text: String(token.token.dropLast(4)))
            #expect(try malformed.status == 77 && malformed.failure().code == 400)
            #expect(!malformed.error.contains(token.token.prefix(20)))
        }
        // Without the authority the gateway is not trusted.
        let stranger = try await ChildProcess(
            Programs.built("sallyport"), ["token", "verify", "--user", Site.user, "--json"] + ways[0],
            input: token.token
        ).outcome()
        #expect(try stranger.status == 69 && stranger.failure().name == "unavailable")
        try await Self.withdrawn(site, store, ca, ways, token.token)
    }

    private static func withdrawn(
        _ site: Site, _ store: String, _ ca: String, _ ways: [[String]], _ token: String
    ) async throws {
        let instance = try #require(try await site.instances().first).instance
        try await site.admin("lock", instance)
        let arguments = ["token", "verify", "--ca", ca, "--user", Site.user, "--server", "app.example", "--json"]
        let online = try await ChildProcess(Programs.built("sallyport"), arguments + ways[1], input: token).outcome()
        #expect(try online.status == 77 && online.failure().code == 403)
        let offline = try await ChildProcess(Programs.built("sallyport"), arguments + ways[0], input: token).outcome()
        #expect(offline.status == 0)
        let refused = try await sallyport("token", "get", "--store", store, "--json")
        #expect(try refused.status == 77 && refused.failure().code == -303)
    }

    @Test func aProofComesWithABoundToken() async throws {
        let site = try await Site.start()
        let store = try await site.activatedStore()
        let got = try await sallyport(
            "token", "get", "--server", "a", "--proof", "https://a.example/x", "-X", "POST", "--store", store, "--json")
        let token = try got.json(Token.self)
        let proof = try DPoPProof(Array(try #require(token.proof).utf8))
        #expect(token.bound && proof.method == "POST" && proof.target == "https://a.example/x")
        let plain = try await sallyport("token", "get", "--store", store)
        #expect(plain.status == 0 && plain.output.split(separator: "\n").count == 1)
    }

    @Test func invalidOptionsAreAUsageError() async throws {
        let site = try await Site.start()
        let store = try await site.activatedStore()
        for arguments in [
            ["get", "--challenge", "a b"], ["get", "--server", "a b"], ["get", "--proof", "x"],
            ["verify", "--user", "a"], ["verify", "--user", "a", "--keys", "f", "--online", "https://a"],
            ["verify", "--user", "a", "--keys", "file"], ["verify", "--user", "a", "--online", "http://a.example/"],
        ] {
            let place = arguments[0] == "get" ? ["--store", store] : []
            let outcome = try await ChildProcess(Programs.built("sallyport"), ["token"] + arguments + place).outcome()
            #expect(outcome.status == 64, "\(arguments): \(outcome.error)")
        }
    }

    @Test func verificationWithoutTLSIsForThisMachine() async throws {
        let folder = try TemporaryDirectory()
        let data = folder.file("gateway")
        try await sallyport("gateway", "init", "--data", data, "--name", "localhost")
        let run = ["gateway", "run", "--data", data, "--control", "127.0.0.1:0", "--relay", "127.0.0.1:0", "--json"]
        let refused = try await ChildProcess(
            Programs.built("sallyport"), run + ["--verification-plain", "0.0.0.0:0"]
        ).outcome()
        #expect(refused.status == 64)
        let lonely = try await ChildProcess(Programs.built("sallyport"), run + ["--insecure"]).outcome()
        #expect(lonely.status == 64)
        for options in [["127.0.0.1:0"], ["0.0.0.0:0", "--insecure"]] {
            let gateway = try ChildProcess(Programs.built("sallyport"), run + ["--verification-plain"] + options)
            defer { gateway.signal(SIGKILL) }
            _ = try await eventually(within: .seconds(30)) { gateway.output.hasSuffix("\n") || !gateway.isRunning }
            struct Ready: Decodable { var verification: String }
            let ready = try JSONDecoder().decode(Ready.self, from: Data(gateway.output.utf8))
            let port = try Endpoint(ready.verification).port
            let verified = try await ChildProcess(
                Programs.built("sallyport"),
                ["token", "verify", "--user", "a", "--online", "http://127.0.0.1:\(port)/verifyGDAuthToken", "--json"],
                input: "eyJhbGciOiJFUzI1NiIsImtpZCI6ImsiLCJ0eXAiOiJzYWxseXBvcnQtdG9rZW4rand0In0.e30."
                    + String(repeating: "A", count: 86)
            ).outcome()
            #expect(try verified.status == 77 && verified.failure().code == 400, "\(verified.error)")
        }
    }
}
