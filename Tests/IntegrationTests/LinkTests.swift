import Foundation
import TestSupport
import Testing

/// "Composed selectively": what links one module gets nothing of the others.
///
/// Direct NEEDED entries are read, not what `ldd` lists: Debian's libcurl brings krb5 and more by itself.
@Suite struct LinkTests {
    @Test(arguments: ["LinkSecureStore", "StoreAlone"])
    func storeAloneLinksNoNetwork(program: String) async throws {
        let needed = try await needed(by: program)
        #expect(needed.contains { $0.hasPrefix("liblmdb.so") })
        for library in [
            "libcurl", "libssl", "libpsl", "libidn2", "libkrb5", "libgssapi", "libFoundation.so",
            "libFoundationNetworking",
        ] {
            #expect(!needed.contains { $0.hasPrefix(library) }, "\(library) among \(needed)")
        }
        let others = ["7NIOCore", "7Logging6Logger", "9HTTPTypes", "13SallyportCore", "16SallyportLoading"]
        #expect(try await modules(in: program, among: others).isEmpty)
    }

    @Test func eventLoopsAloneLinkNoNetworkAndNoStore() async throws {
        let needed = try await needed(by: "LinkEventLoop")
        for library in [
            "libcurl", "libssl", "libcrypto", "liblmdb", "libpsl", "libidn2", "libkrb5", "libgssapi",
            "libFoundation.so", "libFoundationNetworking",
        ] {
            #expect(!needed.contains { $0.hasPrefix(library) }, "\(library) among \(needed)")
        }
        let others = [
            "7NIOCore", "7Logging6Logger", "9HTTPTypes", "13SallyportCore", "16SallyportLoading",
            "20SallyportSecureStore",
        ]
        #expect(try await modules(in: "LinkEventLoop", among: others).isEmpty)
        // The loop is there: that nothing else is says something.
        #expect(try await modules(in: "LinkEventLoop", among: ["18SallyportEventLoop"]) == ["18SallyportEventLoop"])
    }

    /// An app server that checks tokens brings its own HTTP client, and gets neither ours nor a store.
    @Test func verificationAloneLinksNoClientAndNoStore() async throws {
        let needed = try await needed(by: "LinkAuthTokenVerification")
        for library in [
            "libcurl", "liblmdb", "libssl", "libkrb5", "libgssapi", "libpsl", "libFoundation.so",
            "libFoundationNetworking",
        ] {
            #expect(!needed.contains { $0.hasPrefix(library) }, "\(library) among \(needed)")
        }
        let foreign = try await modules(
            in: "LinkAuthTokenVerification",
            among: [
                "7NIOCore", "11Hummingbird", "20SallyportSecureStore", "22SallyportAuthorization",
                "18SallyportTransport",
            ])
        #expect(foreign.isEmpty, "\(foreign)")
    }

    @Test func sessionAloneLinksNoStoreAndNoGateway() async throws {
        let needed = try await needed(by: "LinkURLLoading")
        #expect(needed.contains { $0.hasPrefix("libcurl.so") })
        for library in ["liblmdb", "libkrb5", "libgssapi", "libpsl", "libFoundation.so", "libFoundationNetworking"] {
            #expect(!needed.contains { $0.hasPrefix(library) }, "\(library) among \(needed)")
        }
        let foreign = try await modules(
            in: "LinkURLLoading",
            among: [
                "7NIOCore", "11Hummingbird", "20SallyportSecureStore", "22SallyportAuthorization", "16SallyportCookies",
                "14SallyportCache", "21SallyportReachability",
            ])
        #expect(foreign.isEmpty, "\(foreign)")
    }

    @Test func socketsAloneLinkNoSessionAndNoStore() async throws {
        let needed = try await needed(by: "LinkSocket")
        #expect(needed.contains { $0.hasPrefix("libcurl.so") })
        for library in ["liblmdb", "libkrb5", "libgssapi", "libpsl", "libz.so", "libFoundation.so"] {
            #expect(!needed.contains { $0.hasPrefix(library) }, "\(library) among \(needed)")
        }
        let foreign = try await modules(
            in: "LinkSocket",
            among: [
                "7NIOCore", "19SallyportURLLoading", "20SallyportSecureStore", "22SallyportAuthorization",
            ])
        #expect(foreign.isEmpty, "\(foreign)")
    }

    @Test func appLinksEssentialsOnly() async throws {
        let needed = try await needed(by: "LinkSallyport")
        for library in ["libFoundation.so", "libFoundationNetworking", "libFoundationInternationalization"] {
            #expect(!needed.contains { $0.hasPrefix(library) }, "\(library) among \(needed)")
        }
        let foreign = try await modules(
            in: "LinkSallyport",
            among: [
                "7NIOCore", "11Hummingbird", "4Yams", "16SallyportGateway",
            ])
        #expect(foreign.isEmpty, "\(foreign)")
    }

    /// The front door links krb5 itself where it is to, and by no other module's doing: without the trait nothing of ours
    /// does.
    @Test func onlyKerberosLinksKrb5() async throws {
        let needed = try await needed(by: "LinkSallyport")
        #if Kerberos
        let isWanted = true
        #else
        let isWanted = false
        #endif
        #expect(needed.contains { $0.hasPrefix("libkrb5.so") } == isWanted, "\(needed)")
        #expect(!needed.contains { $0.hasPrefix("libgssapi") }, "\(needed)")
        let folder = Programs.repository.appending(path: "Modules")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        var users: Set<String> = []
        while let file = files?.nextObject() as? URL {
            guard file.pathExtension == "swift" else { continue }
            let text = try String(contentsOf: file, encoding: .utf8)
            if text.contains("import CKerberos\n") {
                users.insert(file.path.contains("/Modules/Kerberos/") ? "Kerberos" : file.path)
            }
            let imports = text.contains("import SallyportKerberos\n")
            #expect(!imports || text.contains("#if Kerberos\n"), "\(file.path)")
        }
        #expect(users == ["Kerberos"])
    }

    @Test func onlyTheBridgeLinksFoundation() async throws {
        let clients = try await needed(by: "LinkClients")
        for library in ["libFoundation.so", "libFoundationNetworking", "libFoundationInternationalization"] {
            #expect(!clients.contains { $0.hasPrefix(library) }, "\(library) among \(clients)")
        }
        let bridge = try await needed(by: "LinkFoundationBridge")
        #expect(bridge.contains { $0.hasPrefix("libFoundationNetworking") })
        #expect(!bridge.contains { $0.hasPrefix("liblmdb") })
    }

    /// Also what no program of these tests links.
    @Test func noOtherClientModuleImportsFoundation() throws {
        let folders = ["Modules", "Plugins"].map { Programs.repository.appending(path: $0) }
        let outside = ["/Modules/Gateway/", "/Modules/CommandLine/", "/Modules/FoundationBridge/"]
        var read = 0
        for folder in folders {
            let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
            while let file = files?.nextObject() as? URL {
                guard file.pathExtension == "swift", !outside.contains(where: { file.path.contains($0) }) else {
                    continue
                }
                read += 1
                let imports = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
                    .filter { $0.hasSuffix("import Foundation") || $0.hasSuffix("import FoundationNetworking") }
                #expect(imports.isEmpty, "\(file.path)")
            }
        }
        #expect(read > 200)
    }

    private func needed(by program: String) async throws -> [String] {
        let readelf = try await ChildProcess("/usr/bin/env", ["readelf", "-d", Programs.built(program)]).outcome()
        try #require(readelf.status == 0, "\(readelf.error)")
        let libraries = readelf.output.split(separator: "\n").filter { $0.contains("(NEEDED)") }
            .compactMap { $0.split(separator: "[").last?.split(separator: "]").first.map(String.init) }
        try #require(!libraries.isEmpty)
        return libraries
    }

    /// The modules among `names` whose mangled names occur in the program's symbols.
    private func modules(in program: String, among names: [String]) async throws -> Set<Substring> {
        let script = """
            set -o pipefail
            readelf -sW "$1" | awk -v names="$2" '
                match($0, names) { found[substr($0, RSTART, RLENGTH)] = 1 }
                END { for (name in found) print name; exit NR < 1000 }'
            """
        let arguments = ["-c", script, "bash", Programs.built(program), names.joined(separator: "|")]
        let outcome = try await ChildProcess("/bin/bash", arguments).outcome()
        try #require(outcome.status == 0, "\(outcome.error)")
        return Set(outcome.output.split(separator: "\n"))
    }
}
