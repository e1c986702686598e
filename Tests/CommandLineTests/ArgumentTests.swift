import ArgumentParser
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportGateway
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportCommandLine

@Suite struct ArgumentTests {
    @Test(arguments: ["80,443,8443", "1", "65535"])
    func portListsAreRead(text: String) throws {
        let list = try #require(PortList(argument: text))
        #expect(list.ports.map(String.init).joined(separator: ",") == text)
    }

    @Test(arguments: ["", ",", "80,", "0", "65536", "80;443", "-1", " 80"])
    func otherTextIsNoPortList(text: String) { #expect(PortList(argument: text) == nil) }

    @Test func aUserIsGivenWithoutAPassword() throws {
        let folder = try TemporaryDirectory()
        let file = try folder.write("secret word\r\nmore", to: "password")
        func parsed(_ arguments: String...) throws -> FetchCommand {
            let all = ["fetch", "--store", "s", "https://a.example/"] + arguments
            return try #require(try SallyportProgram.parseAsRoot(all) as? FetchCommand)
        }
        let command = try parsed("--user", "ann@R", "--auth", "negotiate", "--password-file", file)
        let credential = try #require(try command.credentials.credential())
        #expect(credential.user == "ann@R" && credential.password.reveal() == "secret word")
        #expect(command.credentials.auth?.method == .negotiate)
        #expect(try parsed().credentials.credential() == nil)
        #expect(throws: (any Error).self) { try parsed("--password-file", file) }
        #expect(throws: (any Error).self) { try parsed("--auth", "kerberos") }
        #expect(throws: (any Error).self) { try parsed("--user", "") }
        #expect(throws: (any Error).self) { try parsed("--user", "ann:secret") }
        #expect(throws: CommandFailure.self) {
            try parsed("--user", "ann", "--password-file", file + "x").credentials.credential()
        }
    }

    @Test(arguments: [
        ["fetch", "--limit-rate", "4", "--store", "s", "https://a.example/"], ["fetch", "-L", "https://a.example/"],
        ["doctor", "--nothing"],
    ])
    func anUnknownOptionIsReportedBeforeWhatFailsBecauseOfIt(arguments: [String]) throws {
        let error = #expect(throws: (any Error).self) {
            try ArgumentChecks.parse(arguments, as: SallyportProgram.self)
        }
        let message = SallyportProgram.message(for: try #require(error))
        #expect(message.hasPrefix("Unknown option '\(arguments[1])'"), "\(message)")
    }

    @Test func scopesOfFieldsAreRead() throws {
        #expect(FieldScopeArgument(argument: "origin")?.scope == .origin)
        #expect(FieldScopeArgument(argument: "site")?.scope == .site)
        let hosts = try FieldScope.hosts(["a.example", "b.example:8443"])
        #expect(FieldScopeArgument(argument: "a.example,b.example:8443")?.scope == hosts)
        for text in ["", "a.example,", "https://a.example", "a.example:0"] {
            #expect(FieldScopeArgument(argument: text) == nil, "\(text)")
        }
    }

    @Test func relaysHaveAPriority() throws {
        let relay = try #require(RelayArgument(argument: "relay.example:17533,2"))
        #expect(relay.endpoint.description == "relay.example:17533")
        #expect(relay.priority == 2)
        #expect(RelayArgument(argument: "relay.example:17533")?.priority == 1)
    }

    @Test(arguments: ["relay.example", "relay.example:17533,", "relay.example:17533,0", "relay.example:17533,1,2"])
    func otherTextIsNoRelay(text: String) { #expect(RelayArgument(argument: text) == nil) }

    @Test(arguments: [
        ("TLS1.2", TLSVersion.tls12), ("tls1.3", .tls13), ("1.0", .tls10), ("TLSv1.1", .tls11),
    ])
    func versionsAreReadInAllSpellings(text: String, version: TLSVersion) {
        #expect(TLSVersionArgument(argument: text)?.version == version)
    }

    @Test(arguments: ["", "1", "SSL3.0", "1.4", "S1.2", ".2"])
    func otherTextIsNoVersion(text: String) { #expect(TLSVersionArgument(argument: text) == nil) }

    @Test func anyFreePortCanBeBound() throws {
        let bind = try #require(BindArgument(argument: "127.0.0.1:0"))
        #expect(bind.host == "127.0.0.1")
        #expect(bind.port == 0)
        #expect(BindArgument(argument: "[::1]:17433")?.host == "::1")
        #expect(BindArgument(argument: "localhost") == nil)
    }
}

@Suite struct FetchArgumentTests {
    private func parsed(_ arguments: String...) throws -> FetchCommand {
        try #require(try SallyportProgram.parseAsRoot(["fetch", "--store", "s"] + arguments) as? FetchCommand)
    }

    @Test func dataMakesAPost() throws {
        let requests = try parsed("-d", "a=1", "-H", "X-One: two", "https://a.example/", "https://b.example/")
            .requests()
        #expect(requests.map(\.method) == [.post, .post])
        #expect(requests.map(\.url.redacted) == ["https://a.example/", "https://b.example/"])
        #expect(requests[0].headerFields.first?.value == "two")
    }

    @Test func methodWinsOverData() throws {
        #expect(try parsed("-X", "PUT", "-d", "a", "https://a.example/").requests()[0].method == .put)
    }

    @Test(arguments: [
        ["https://user:SECRET@a.example/"], ["-H", "SECRET", "https://a.example/"],
        ["-H", "X-A: SECRET\u{0}", "https://a.example/"], ["https:// SECRET"],
    ])
    func aRefusedArgumentIsNotRepeated(arguments: [String]) async throws {
        let error = #expect(throws: (any Error).self) {
            try SallyportProgram.parseAsRoot(["fetch", "--store", "s"] + arguments)
        }
        let message = SallyportProgram.message(for: try #require(error))
        #expect(!message.contains("SECRET"))
        #expect(!message.isEmpty)
    }

    @Test(arguments: [["-C"], ["-C", "-o", "-"], ["-C", "-o", "f", "-d", "x"], ["-C", "-o", "f", "-X", "HEAD"]])
    func goingOnTakesAFileAndAPlainGet(arguments: [String]) throws {
        #expect(throws: (any Error).self) {
            try SallyportProgram.parseAsRoot(["fetch", "--store", "s", "https://a.example/"] + arguments)
        }
        #expect(try parsed("-C", "-o", "f", "https://a.example/").goesOn)
    }

    @Test func whiteSpaceAroundAFieldsValueIsNotSent() throws {
        let request = try parsed("-H", "X-A: \t a b \t", "https://a.example/").requests()[0]
        #expect(request.headerFields.first { $0.name.rawName == "X-A" }?.value == "a b")
    }

    @Test func theEnvironmentMayNameTheStore() throws {
        let arguments = ["fetch", "https://a.example/"]
        let command = try Workplace.$current.withValue(Workplace(defaultStore: "named")) {
            try SallyportProgram.parseAsRoot(arguments)
        }
        #expect((command as? FetchCommand)?.location.store == "named")
        let error = Workplace.$current.withValue(Workplace(defaultStore: "")) {
            #expect(throws: (any Error).self) { try SallyportProgram.parseAsRoot(arguments) }
        }
        #expect(SallyportProgram.message(for: try #require(error)).contains("SALLYPORT_STORE"))
    }

    @Test func optionsOfCurlAreAnsweredByOnesOfFetch() {
        #expect(CurlHabits.hint(for: ["fetch", "-k", "https://a.example/"])?.contains("--ca") == true)
        #expect(CurlHabits.hint(for: ["fetch", "https://a.example/", "-I"])?.contains("HEAD") == true)
        #expect(CurlHabits.hint(for: ["fetch", "--", "-k"]) == nil && CurlHabits.hint(for: ["status", "-k"]) == nil)
    }

    @Test func oneFileTakesOneURL() {
        #expect(throws: (any Error).self) { try parsed("-o", "f", "https://a.example/", "https://b.example/") }
    }
}

@Suite struct ConsoleArgumentTests {
    private func request(_ arguments: String...) throws -> AdministrationCommand {
        let command = try SallyportProgram.parseAsRoot(["admin"] + arguments + ["--data", "d"])
        return try #require(command as? any ConsoleCommand).request()
    }

    @Test func commandsAskWhatTheySay() throws {
        #expect(try request("user", "add", "ann") == .addUser("ann"))
        #expect(try request("user", "remove", "ann") == .removeUser("ann", confirmed: false))
        #expect(try request("user", "remove", "ann", "--yes") == .removeUser("ann", confirmed: true))
        #expect(try request("app", "add", "com.a", "1.0") == .addApplication(entitlement: "com.a", version: "1.0"))
        #expect(
            try request("entitle", "ann", "com.a", "1.0") == .entitle(user: "ann", entitlement: "com.a", version: "1.0")
        )
        #expect(try request("key", "issue", "ann", "com.a") == .issueKey(user: "ann", entitlement: "com.a"))
        #expect(try request("key", "list") == .listKeys(user: nil))
        #expect(try request("key", "list", "--user", "ann") == .listKeys(user: "ann"))
        let key = "7cd954c2-aa56-4d7a-bcb7-eeb9619b06e5"
        #expect(try request("key", "revoke", key) == .revokeKeys(.one(key)))
        #expect(try request("key", "revoke", "--user", "ann") == .revokeKeys(.all(ofUser: "ann")))
        #expect(throws: (any Error).self) { try request("key", "revoke") }
        #expect(throws: (any Error).self) { try request("key", "revoke", key, "--user", "ann") }
        #expect(throws: (any Error).self) { try request("key", "revoke", "k1") }
        #expect(
            try request("route", "set", "default", "direct")
                == .setRoute(domain: "default", route: "direct", ports: nil))
        #expect(
            try request("route", "set", "a.example", "relay:west", "--ports", "80,8080")
                == .setRoute(domain: "a.example", route: "relay:west", ports: [80, 8080]))
        #expect(try request("tls", "floor", "1.3") == .setTLSFloor(version: "TLS1.3"))
        #expect(try request("auth", "forbid", "basic") == .forbidScheme(name: "basic"))
        #expect(try request("auth", "allow", "NTLM") == .allowScheme(name: "NTLM"))
        #expect(try request("wipe", "x") == .withdraw(instance: "x", .wipe, confirmed: false))
        #expect(try request("wipe", "x", "--yes") == .withdraw(instance: "x", .wipe, confirmed: true))
    }

    @Test func listsTakeNoArguments() throws {
        #expect(try request("app", "list") == .listApplications)
        #expect(try request("server", "list", "--json") == .listServers)
        #expect(try request("route", "list") == .listRoutes)
        #expect(try request("cluster", "list") == .listClusters)
        #expect(throws: (any Error).self) { try request("server", "list", "a.example:1") }
    }

    @Test func eachCommandThatWipesCanBeConfirmedAndNoOther() throws {
        for words in [["user", "remove", "a"], ["app", "remove", "com.a", "1.0"], ["wipe", "x"]] {
            let command = try #require(
                try SallyportProgram.parseAsRoot(["admin"] + words + ["--data", "d"]) as? any ConsoleCommand)
            let yes = try #require(
                try SallyportProgram.parseAsRoot(["admin"] + words + ["--yes", "--data", "d"]) as? any ConsoleCommand)
            #expect(try command.request().confirmed == yes.request() && command.request() != yes.request())
        }
        #expect(
            try request("unentitle", "a", "com.a", "1.0").confirmed
                == request("unentitle", "a", "com.a", "1.0", "--yes"))
        for command in [AdministrationCommand.listUsers, .addUser("a"), .authority(.revoke(confirmed: false))] {
            #expect(command.confirmed == nil)
        }
    }

    @Test func serversHaveAllTheirFacts() throws {
        #expect(
            try request("server", "add", "A.Example:8443", "--app", "com.a", "--priority", "2", "--address", "10.0.0.1")
                == .addServer(
                    .init(
                        endpoint: "a.example:8443", entitlement: "com.a", priority: 2, route: "relay",
                        address: "10.0.0.1")))
        #expect(try request("server", "add", "a.example:1") == .addServer(.init(endpoint: "a.example:1")))
    }

    @Test(arguments: [
        ["server", "add", "a.example"], ["server", "add", "a.example:1", "--priority", "2"],
        ["server", "add", "a.example:1", "--address", "b.example"], ["server", "add", "a:1", "--route", "perhaps"],
        ["cluster", "set", "a/b", "r:1"], ["route", "set", "default", "relay:"], ["wipe"],
    ])
    func invalidArgumentsAreRefused(arguments: [String]) {
        #expect(throws: (any Error).self) { try SallyportProgram.parseAsRoot(["admin"] + arguments + ["--data", "d"]) }
    }
}
