import FoundationEssentials
import SallyportCore
import SallyportSecureStore
import TestSupport
import Testing

@testable import SallyportCommandLine

@Suite struct CookiesCommandTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func run(_ arguments: String...) async -> SallyportCommandLine.ExitStatus {
        await SallyportProgram.run(
            ["cookies"] + arguments + ["--store", folder.file("store"), "--key-file", folder.file("key")])
    }

    private func make() async throws {
        try await SecureStore.open(at: folder.file("store"), protectedBy: .keyFile(folder.file("key"))).close()
    }

    private func exported(_ name: String, _ options: [String] = []) async throws -> String {
        let status = await SallyportProgram.run(
            ["cookies", "export", "-o", folder.file(name)] + options
                + ["--store", folder.file("store"), "--key-file", folder.file("key")])
        #expect(status == .done)
        return try String(contentsOfFile: folder.file(name), encoding: .utf8)
    }

    @Test func importedCookiesAreListedExportedAndRemoved() async throws {
        try await make()
        try folder.write(
            "www.example.com\tFALSE\t/\tTRUE\t4102444800\tid\tsecret\n.example.com\tTRUE\t/\tFALSE\t4102444800\tb\t2\n",
            to: "cookies.txt")
        #expect(await run("import", folder.file("cookies.txt")) == .done)
        #expect(await run("list") == .done)
        #expect(await run("list", "--json", "--show-values", "--url", "https://www.example.com/") == .done)
        #expect(try await exported("a.txt").contains("\tid\tsecret\n"))
        let json = try await exported("b.json", ["--format", "json"])
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.file("b.json"))
        #expect(attributes[.posixPermissions] as? UInt == 0o600 || attributes[.posixPermissions] as? Int == 0o600)
        #expect(await run("remove", "--name", "id") == .done)
        #expect(try await !exported("c.txt").contains("secret"))
        #expect(await run("remove", "--all") == .done)
        #expect(await run("import", folder.file("b.json"), "--json") == .done)
        #expect(try await exported("d.json", ["--format", "json"]) == json)
    }

    @Test func jarsAndPrincipalsAreApart() async throws {
        try await make()
        try folder.write("a.example\tFALSE\t/\tFALSE\t4102444800\tid\tsecret\n", to: "cookies.txt")
        #expect(await run("import", folder.file("cookies.txt"), "--jar", "x", "--principal", "ann") == .done)
        #expect(try await !exported("a").contains("secret"))
        #expect(try await !exported("b", ["--jar", "x"]).contains("secret"))
        #expect(try await exported("c", ["--jar", "x", "--principal", "ann"]).contains("secret"))
    }

    @Test func mistakesOfUse() async throws {
        #expect(await run("list") == .usage, "there is no store")
        try await make()
        try folder.write("nonsense", to: "cookies.txt")
        #expect(await run("import", folder.file("cookies.txt")) == .usage)
        #expect(await run("import", folder.file("absent")) == .inputOutput)
        #expect(await run("remove") == .usage)
        #expect(await run("remove", "--all", "--name", "a") == .usage)
        #expect(await run("list", "--url", "nonsense") == .usage)
        #expect(await run("list", "--jar", "") == .usage)
        #expect(await run("export", "--format", "xml") == .usage)
        #expect(await run("export", "-o", folder.file("cookies.txt")) == .inputOutput, "it is there already")
    }

    @Test func writingCommandsReportThatTheStoreIsInUse() async throws {
        let store = try await SecureStore.open(at: folder.file("store"), protectedBy: .keyFile(folder.file("key")))
        #expect(await run("remove", "--all") == .inUse)
        try folder.write("", to: "cookies.txt")
        #expect(await run("import", folder.file("cookies.txt")) == .inUse)
        store.close()
    }
}
