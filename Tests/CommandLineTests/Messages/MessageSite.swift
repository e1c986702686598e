import Foundation
import SallyportAuthorization
import SallyportBase
import SallyportCore
import SallyportGateway
import SallyportSecureStore
import TestSupport

/// A gateway that runs, with a user and an app, and servers that the app may reach.
final class MessageSite: Sendable {
    private static let user = "ann"
    private static let app = "com.example.report"

    private let folder: TemporaryDirectory
    private let gateway: ChildProcess
    let places: [String: String]
    private let servers: [TestServer]
    /// The keys of links and the tokens that the gateway has issued.
    private let issued: Lock<[String]>
    /// Open until the site is let go.
    private let doors: Lock<[ChildProcess]>

    var secrets: [String] { issued.withLock { $0 } }

    static func start(in folder: TemporaryDirectory) async throws -> MessageSite {
        let data = folder.file("gateway")
        try await Gateway.create(at: data, name: "localhost", protectedBy: .keyFile("\(data)/key"))
        let gateway = try ChildProcess(
            Programs.built("sallyport"),
            ["gateway", "run", "--data", data, "--control", "127.0.0.1:0", "--relay", "127.0.0.1:0", "--json"])
        let isReady = try await eventually(within: .seconds(30)) {
            gateway.output.hasSuffix("\n") || !gateway.isRunning
        }
        guard isReady, gateway.isRunning else { throw Unexpected("The gateway does not run: \(gateway.error)") }
        let ready = try JSONDecoder().decode(Ready.self, from: Data(gateway.output.utf8))
        let site = try MessageSite(folder, gateway, ready)
        let file = try folder.write(site.declaration, to: "site.yaml")
        _ = try await site.run("admin", "apply", "-f", file, "--data", data)
        return site
    }

    /// What `gateway run --json` prints.
    private struct Ready: Decodable { var control, relay: String }

    private init(_ folder: TemporaryDirectory, _ gateway: ChildProcess, _ ready: Ready) throws {
        (self.folder, self.gateway) = (folder, gateway)
        (issued, doors) = (Lock([]), Lock([]))
        let world = try World()
        let plain = try TestServer { MessageServer.serve($0) }
        let inside = try TestServer { MessageServer.serve($0) }
        let secure = try world.server(isSecure: true) { _ in }
        servers = [plain, inside, secure]
        try folder.write(PEM.certificate(world.origin.der), to: "authority")
        places = [
            "gateway": folder.file("gateway"), "authority": folder.file("authority"),
            "control": "localhost:\(try Endpoint(ready.control).port)",
            "relay": "localhost:\(try Endpoint(ready.relay).port)",
            "server": "127.0.0.1:\(plain.port)", "inside": "127.0.0.1:\(inside.port)",
            "tls-server": "localhost:\(secure.port)",
            "closed": "127.0.0.1:\(LoopbackPort.free())", "closed-inside": "127.0.0.1:\(LoopbackPort.free())",
        ]
    }

    deinit {
        for door in doors.withLock({ $0 }) { door.signal(SIGKILL) }
        gateway.signal(SIGKILL)
    }

    private var declaration: String {
        let servers = ["server", "tls-server", "closed"].compactMap { places[$0] }.map {
            "{server: \"\($0)\", route: direct}"
        }
        let inside = [places["inside"], places["closed-inside"], "localhost:1"].compactMap(\.self).map {
            "{server: \"\($0)\"}"
        }
        return """
            apps: [{id: \(Self.app), versions: ["1.0.0.0", "2.0.0.0"]}]
            users: [{name: \(Self.user), entitlements: [{app: \(Self.app), versions: ["1.0.0.0"]}]}]
            servers: [\((servers + inside).joined(separator: ", "))]
            """
    }

    // MARK: Places

    func make(_ name: String) async throws -> String {
        if let place = places[name] { return place }
        switch name {
        case "link", "other-link": return try await link(in: name)
        case "link-text": return try await text(of: link(in: name))
        case "key-text": return try await String(text(of: link(in: name)).split(separator: "=").last ?? "")
        case "used-link":
            let file = try await link(in: name)
            try await activate(file, into: "\(name)-app")
            return file
        case "app", "other-app": return try await activated(name)
        case "door-app": return try await withDoor(name)
        case "blocked-app": return try await withdrawn(name, by: .block)
        case "locked-app": return try await withdrawn(name, by: .lock)
        case "wiped-app": return try await withdrawn(name, by: .wipe)
        case "outdated-app": return try await outdated(name)
        case "outdated-instance":
            let store = folder.file("outdated-app")
            return try await run("status", "--store", store, "--json").json(Activation.self).instance
        case "gateway-authority": return try await authority(in: name)
        case "token": return try await token(in: name)
        case "token-text": return try await text(of: token(in: name))
        default: throw Unexpected("The stage has no <\(name)>.")
        }
    }

    private func text(of file: String) throws -> String {
        try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func issue(_ secret: String) { issued.withLock { $0.append(secret) } }

    /// A file with a new activation link.
    private func link(in name: String, of user: String = MessageSite.user) async throws -> String {
        let issued = try await run("admin", "key", "issue", user, Self.app, "--data", folder.file("gateway"))
        guard let key = issued.output.firstMatch(of: /key=([^&\s]+)/)?.output.1 else {
            throw Unexpected("No link was issued: \(issued.error)")
        }
        issue(String(key))
        return try folder.write(issued.output, to: name)
    }

    /// A file with the authority of the gateway, as an app knows it.
    private func authority(in name: String) async throws -> String {
        let path = try await activated("\(name)-app")
        let store = try await SecureStore.open(at: path, protectedBy: .keyFile("\(path)/key"), options: .readOnly)
        defer { store.close() }
        let authorities = try StoredAuthorization.read(from: store).contact?.authorities ?? []
        return try folder.write(authorities.map(PEM.certificate).joined(), to: name)
    }

    /// A file with a token of an app of its own.
    private func token(in name: String) async throws -> String {
        let got = try await run("token", "get", "--store", try await activated("\(name)-app"))
        issue(got.output.trimmingCharacters(in: .newlines))
        return try folder.write(got.output, to: name)
    }

    /// An activated app whose door is open, on a Unix socket only.
    private func withDoor(_ name: String) async throws -> String {
        let store = try await activated(name)
        let door = try ChildProcess(
            Programs.built("sallyport"), ["proxy", "--socket", folder.file("socket"), "--store", store])
        guard try await eventually({ door.output.hasSuffix("\n") || !door.isRunning }), door.isRunning else {
            throw Unexpected("The door does not open: \(door.error)")
        }
        doors.withLock { $0.append(door) }
        return store
    }

    private struct Activation: Decodable { var instance: String }

    @discardableResult
    private func activate(_ link: String, into name: String) async throws -> Activation {
        try await run("activate", "--link-file", link, "--store", folder.file(name), "--json").json(Activation.self)
    }

    private func activated(_ name: String) async throws -> String {
        try await activate(link(in: "\(name)-link"), into: name)
        return folder.file(name)
    }

    /// An activated app that was withdrawn and has not learned of it.
    private func withdrawn(_ name: String, by order: AdministrationCommand.Withdrawal) async throws -> String {
        let activation = try await activate(link(in: "\(name)-link"), into: name)
        let data = folder.file("gateway")
        let reply = try await AdministrationClient(data: data, protectedBy: .keyFile("\(data)/key"))
            .perform(.withdraw(instance: activation.instance, order))
        guard reply == .done else { throw Unexpected("\(name) was not withdrawn: \(reply)") }
        return folder.file(name)
    }

    /// An activated app whose user, who has no other, is entitled to another version by now; it has not learned of it.
    private func outdated(_ name: String) async throws -> String {
        let (user, data) = ("eve", folder.file("gateway"))
        _ = try await run("admin", "user", "add", user, "--data", data)
        _ = try await run("admin", "entitle", user, Self.app, "1.0.0.0", "--data", data)
        try await activate(link(in: "\(name)-link", of: user), into: name)
        _ = try await run("admin", "entitle", user, Self.app, "2.0.0.0", "--data", data)
        _ = try await run("admin", "unentitle", user, Self.app, "1.0.0.0", "--yes", "--data", data)
        return folder.file(name)
    }

    private func run(_ arguments: String...) async throws -> Outcome {
        let outcome = try await ChildProcess(Programs.built("sallyport"), arguments).outcome()
        guard outcome.status == 0 else {
            throw Unexpected("\(arguments) ended with \(outcome.status): \(outcome.error)")
        }
        return outcome
    }
}

/// The server without TLS of a ``MessageSite``: what it answers depends on the path.
private enum MessageServer {
    static func serve(_ connection: TestConnection) {
        var head = ""
        while let byte = connection.read(upTo: 1).first {
            // A handshake of TLS.
            if byte == 0x16 { return }
            head.unicodeScalars.append(Unicode.Scalar(byte))
            guard head.hasSuffix("\r\n\r\n") else { continue }
            guard connection.write(answer(to: head)) else { return }
            head = ""
        }
    }

    private static func answer(to head: String) -> String {
        let path = head.split(separator: " ").dropFirst().first.map(String.init) ?? "/"
        let status =
            switch path.prefix(while: { $0 != "?" }) {
            case "/circle": "302 Found\r\nLocation: /circle"
            case "/basic": "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"a\""
            case "/missing": "404 Not Found"
            case "/fresh": "200 OK\r\nCache-Control: max-age=1000\r\nVary: Accept"
            case "/stale": "200 OK\r\nCache-Control: max-age=0\r\nETag: \"a\""
            case "/report": "200 OK"
            default: "400 Bad Request"
            }
        return path == "/garbage" ? "garbage\r\n\r\n" : "HTTP/1.1 \(status)\r\nContent-Length: 2\r\n\r\nok"
    }
}
