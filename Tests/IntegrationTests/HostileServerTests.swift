import Foundation
import SallyportBase
import TestSupport
import Testing

/// Servers behind a real relay that mean no good: the relay passes their bytes on, and the app's own side ends the load.
@Suite(.timeLimit(.minutes(3))) struct HostileServerTests {
    private static let host = "hostile.corp.example"

    /// A gateway through which an app reaches one server on this machine under a name of the inside.
    private func site(_ server: TestServer) async throws -> (site: Site, store: String, url: String) {
        let site = try await Site.start()
        try await site.admin(
            "server", "add", "\(Self.host):\(server.port)", "--app", Site.app, "--address", "127.0.0.1")
        return (site, try await site.activatedStore(), "http://\(Self.host):\(server.port)/")
    }

    private static func server(_ answer: String) throws -> TestServer {
        try TestServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write(answer)
            connection.finish()
        }
    }

    private static let fine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"

    @Test func faultsEndInTheSameErrors() async throws {
        let answers = Lock<[String]>([])
        let server = try TestServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write(answers.withLock { $0.isEmpty ? "" : $0.removeFirst() })
            connection.finish()
        }
        let (site, store, url) = try await site(server)
        let cases: [(answer: String, name: String)] = [
            ("SSH-2.0-OpenSSH_9.2\r\n\r\n", "protocolViolation"),
            (Self.fine + "HTTP/1.1 302 Found\r\n\r\nok", "protocolViolation"),
            (Self.fine + "Content-Length: 5\r\n\r\nok", "protocolViolation"),
            (Self.fine + "X-Long: " + String(repeating: "a", count: 300_000) + "\r\n\r\nok", "responseTooLarge"),
            (String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 10_000), "responseTooLarge"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", "connectionLost"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "protocolViolation"),
            ("HTTP/1.1 302 T\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n", "redirectRefused"),
        ]
        for (answer, name) in cases {
            answers.withLock { $0 = [answer] }
            let outcome = try await site.fetch(url, store, "--json")
            #expect(try outcome.failure().name == name, "\(answer.prefix(60)): \(outcome.error)")
        }
    }

    /// Fields that would clear the screen and set its title are escaped on a terminal; a pipe gets them unchanged.
    @Test func fieldsDoNotSteerTheTerminal() async throws {
        let field = "\u{1b}]0;owned\u{7}\u{9b}2J"
        let server = try Self.server(Self.fine + "X-Evil: \(field)\r\n\r\nok")
        let (site, store, url) = try await site(server)
        // Its folder holds the store.
        defer { withExtendedLifetime(site) {} }
        let program = Programs.built("sallyport")
        let arguments = ["fetch", url, "--store", store, "-i"]
        let piped = try await ChildProcess(program, arguments).outcome()
        #expect(piped.status == 0 && piped.output.contains(field), "\(piped.error)")
        let command = ([program] + arguments).map { "'\($0)'" }.joined(separator: " ")
        let shown = try await ChildProcess("/usr/bin/script", ["-qefc", command, "/dev/null"]).outcome()
        #expect(shown.output.contains("\\u001b]0;owned\\u0007\\u009b2J"), "\(shown.output)")
        #expect(
            !shown.output.unicodeScalars.contains { ["\u{1b}", "\u{7}", "\u{9b}"].contains($0) }, "\(shown.output)")
    }

    @Test func aRedirectToADeniedHostIsRefusedBeforeAnyConnection() async throws {
        let location = "http://payroll.corp.example/"
        let server = try Self.server("HTTP/1.1 302 T\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n")
        let (site, store, url) = try await site(server)
        let outcome = try await site.fetch(url, store, "--json")
        #expect(outcome.status == 77)
        #expect(try outcome.failure().name == "refusedByPolicy", "\(outcome.error)")
    }

    /// Where routing sends everything through the relay, the relay refuses to reach its own machine, in any spelling.
    @Test func aRedirectToLoopbackIsRefusedByTheRelay() async throws {
        let target = try Self.server(Self.fine + "\r\nok")
        let locations = Lock<[String]>([])
        let server = try TestServer { connection in
            guard connection.readHead() != nil else { return }
            let location = locations.withLock { $0.removeFirst() }
            connection.write("HTTP/1.1 302 T\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n")
            connection.finish()
        }
        let (site, store, url) = try await site(server)
        try await site.admin("route", "set", "default", "relay", "--ports", "80,\(target.port)")
        for host in ["127.0.0.1", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "localhost"] {
            locations.withLock { $0 = ["http://\(host):\(target.port)/"] }
            let outcome = try await site.fetch(url, store, "--json")
            let name = try? outcome.failure().name
            #expect(name == "relayRefused", "\(host): \(outcome.output) \(outcome.error)")
        }
        #expect(target.acceptedConnections == 0)
    }
}
