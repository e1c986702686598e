import Foundation
import TestSupport
import Testing

/// Real programs through `sallyport proxy` and `sallyport run`, and through a relay, to servers inside; and not to one that
/// is not listed.
@Suite(.timeLimit(.minutes(2))) struct DoorProgramsTests {
    // MARK: curl

    private func curl(
        _ fixture: DoorFixture, _ proxy: String, _ url: String, _ options: String...
    ) async throws -> Outcome {
        let words = ["curl", "-sS", "--max-time", "40", "--cacert", fixture.inside.authorityFile, "--proxy", proxy]
        return try await ChildProcess("/usr/bin/env", words + options + [url]).outcome()
    }

    @Test func curlReachesAListedServerByEachKindOfProxy() async throws {
        let fixture = try await DoorFixture.start()
        let socket = fixture.site.folder.file("door.sock")
        let door = try await fixture.openDoor("--socket", socket)
        for proxy in [door.http, door.socks, "socks5h://localhost\(socket)"] {
            for url in [fixture.inside.url, fixture.inside.plainURL] {
                let report = try await curl(fixture, proxy, "\(url)/report.txt")
                #expect(report.status == 0 && report.output == "The figures of today.\n", "\(proxy) \(report.error)")
                let posted = try await curl(
                    fixture, proxy, "\(url)/echo", "--data", "x=y", "--proxy-user", "sallyport:unasked")
                #expect(posted.output == "POST ", "\(proxy) \(posted.output) \(posted.error)")
            }
        }
        // The servers saw the relay, and the door tells of each connection.
        #expect(try await eventually { fixture.inside.log.count == 12 })
        #expect(fixture.inside.log.allSatisfy { $0.hasPrefix("\(Intranet.egress) ") }, "\(fixture.inside.log)")
        #expect(try await eventually { door.records.count == 12 })
        #expect(Set(door.records.map(\.form)) == ["connect", "http", "socks5"])
        #expect(door.records.allSatisfy { $0.route == "relay" && $0.end == "complete" && $0.user == getuid() })
        #expect(door.records.allSatisfy { $0.received > 100 && $0.sent > 50 }, "\(door.records)")
        #expect(try await door.close() == 0)
        #expect(!FileManager.default.fileExists(atPath: socket))
    }

    @Test func curlIsRefusedAServerThatIsNotListed() async throws {
        let fixture = try await DoorFixture.start()
        let socket = fixture.site.folder.file("door.sock")
        let door = try await fixture.openDoor("--socket", socket)
        let tunnel = try await curl(fixture, door.http, fixture.inside.unlistedURL, "-i")
        #expect(tunnel.status == 56 && tunnel.error.contains("403"), "\(tunnel.error)")
        #expect(tunnel.output.contains("Proxy-Status: "), "\(tunnel.output)")
        let plain = try await curl(fixture, door.http, "http://payroll.corp.example/", "-i")
        #expect(plain.status == 0 && plain.output.hasPrefix("HTTP/1.1 403 "), "\(plain.output)\(plain.error)")
        for proxy in [door.socks, "socks5h://localhost\(socket)"] {
            let refused = try await curl(fixture, proxy, fixture.inside.unlistedURL)
            // 2: "connection not allowed by ruleset" (RFC 1928 §6).
            #expect(refused.status == 97 && refused.error.contains("(2)"), "\(refused.error)")
        }
        // An address hides the name from the policy.
        let address = try await curl(fixture, door.http, "https://\(Intranet.address):\(fixture.inside.unlistedPort)/")
        #expect(address.status == 56, "\(address.error)")
        #expect(try await eventually { door.records.count == 5 })
        #expect(door.records.allSatisfy { $0.end != "complete" && $0.route == nil }, "\(door.records)")
        #expect(fixture.inside.unlistedLog.isEmpty)
    }

    /// curl speaks no HTTP with a proxy on a Unix socket; Python's `http.client` does with a little help.
    @Test func httpIsTakenOnAUnixSocket() async throws {
        let fixture = try await DoorFixture.start()
        let socket = fixture.site.folder.file("door.sock")
        let door = try await fixture.openDoor("--socket", socket)
        let script = """
            import http.client, socket, sys
            class Connection(http.client.HTTPConnection):
                def connect(self):
                    self.sock = socket.socket(socket.AF_UNIX)
                    self.sock.connect(sys.argv[1])
            for url in sys.argv[2:]:
                connection = Connection("door", timeout=10)
                connection.request("GET", url)
                answer = connection.getresponse()
                print(answer.status, answer.read().decode().splitlines()[0])
            """
        let outcome = try await program(
            "python3", "-c", script, socket, "\(fixture.inside.plainURL)/report.txt",
            "http://\(Intranet.name):\(fixture.inside.unlistedPort)/")
        let lines = outcome.output.split(separator: "\n")
        #expect(outcome.status == 0 && lines.count == 2, "\(outcome.error)")
        #expect(lines.first == "200 The figures of today.")
        #expect(lines.last?.hasPrefix("403 ") == true, "\(outcome.output)")
        #expect(try await door.close() == 0)
    }

    // MARK: Python, git, pip

    @Test func pythonFindsTheDoorByItsEnvironment() async throws {
        let fixture = try await DoorFixture.start()
        let door = try await fixture.openDoor()
        let text = try await sallyport("proxy", "env", "--store", fixture.store, "--shell", "json")
        let variables = try text.json([String: String].self)
        #expect(variables["http_proxy"] == door.http && variables["ALL_PROXY"] == door.socks)
        let script = """
            import sys, urllib.error, urllib.request
            for url in sys.argv[1:]:
                try:
                    print(urllib.request.urlopen(url, timeout=10).read().decode(), end="")
                except urllib.error.URLError as error:
                    print(error)
            """
        let inside = fixture.inside
        let environment = variables.merging(["SSL_CERT_FILE": inside.authorityFile]) { $1 }
        let outcome = try await program(
            "python3", "-c", script, "\(inside.plainURL)/report.txt", "\(inside.url)/report.txt", inside.unlistedURL,
            "http://payroll.corp.example/", environment: environment)
        let lines = outcome.output.split(separator: "\n")
        #expect(outcome.status == 0 && lines.count == 4, "\(outcome.output)\(outcome.error)")
        #expect(lines.prefix(2) == ["The figures of today.", "The figures of today."], "\(outcome.output)")
        #expect(lines.suffix(2).allSatisfy { $0.contains("403") }, "\(outcome.output)")
        #expect(inside.unlistedLog.isEmpty)
    }

    @Test func gitClonesOverHTTPSWithinRun() async throws {
        let fixture = try await DoorFixture.start()
        let source = """
            set -e
            cd "$1"
            export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
            export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@corp.example
            export GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@corp.example
            git init -q -b main work
            echo 'print("inside")' > work/app.py
            git -C work add app.py
            git -C work commit -q -m "The app"
            git clone -q --bare work site/app.git
            git -C site/app.git update-server-info
            """
        let made = try await ChildProcess("/bin/bash", ["-c", source, "-", fixture.inside.folder.path]).outcome()
        try #require(made.status == 0, "\(made.error)")
        let copy = fixture.site.folder.file("copy")
        let environment = [
            "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_TERMINAL_PROMPT": "0",
        ]
        let cloned = try await fixture.run(
            "git", "clone", "-q", "\(fixture.inside.url)/app.git", copy, environment: environment)
        #expect(cloned.status == 0, "\(cloned.error)")
        #expect(try String(contentsOfFile: "\(copy)/app.py", encoding: .utf8) == "print(\"inside\")\n")
        #expect(fixture.inside.log.allSatisfy { $0.hasPrefix("\(Intranet.egress) ") })
        let refused = try await fixture.run(
            "git", "clone", "-q", "\(fixture.inside.unlistedURL)/app.git", fixture.site.folder.file("none"),
            environment: environment)
        #expect(refused.status == 128 && refused.error.contains("403"), "\(refused.error)")
        #expect(fixture.inside.unlistedLog.isEmpty)
    }

    @Test func pipDownloadsWithinRun() async throws {
        let fixture = try await DoorFixture.start()
        // A wheel is an archive with three files about itself.
        let script = """
            import os, sys, zipfile
            folder = sys.argv[1] + "/site/simple/figures"
            os.makedirs(folder)
            about = "figures-1.0.dist-info"
            files = {
                "figures.py": "today = 42\\n",
                about + "/METADATA": "Metadata-Version: 2.1\\nName: figures\\nVersion: 1.0\\n",
                about + "/WHEEL": "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
            }
            files[about + "/RECORD"] = "".join(name + ",,\\n" for name in [*files, about + "/RECORD"])
            with zipfile.ZipFile(folder + "/figures-1.0-py3-none-any.whl", "w") as archive:
                for name, text in files.items(): archive.writestr(name, text)
            """
        let made = try await program("python3", "-c", script, fixture.inside.folder.path)
        try #require(made.status == 0, "\(made.error)")
        let target = fixture.site.folder.file("wheels")
        let environment = ["PIP_CONFIG_FILE": "/dev/null", "PIP_NO_INPUT": "1"]
        let words = [
            "python3", "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir", "--disable-pip-version-check",
            "--retries", "0", "--dest", target, "--index-url",
        ]
        let loaded = try await fixture.running(
            words + ["\(fixture.inside.url)/simple/", "figures"], environment: environment
        ).outcome(within: .seconds(20))
        #expect(loaded.status == 0, "\(loaded.error)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: target) == ["figures-1.0-py3-none-any.whl"])
        let refused = try await fixture.running(
            words + ["\(fixture.inside.unlistedURL)/simple/", "figures"], environment: environment
        ).outcome(within: .seconds(20))
        #expect(refused.status == 1 && refused.error.contains("ERROR: No matching"), "\(refused.error)")
        #expect(fixture.inside.unlistedLog.isEmpty)
    }

    // MARK: ssh

    /// ssh starts the program anew for each connection, and each of them finds the store open.
    @Test func twoSessionsOfSSHRunAtOnceWhileADoorIsOpen() async throws {
        let server = try await SSHServer.start(on: Intranet.address)
        let fixture = try await DoorFixture.start()
        try await fixture.list(server.port)
        let door = try await fixture.openDoor()
        let stanza = try await sallyport("ssh-config", "*.corp.example", "--store", fixture.store)
        #expect(stanza.status == 0, "\(stanza.error)")
        let file = try fixture.site.folder.write(stanza.output, to: "ssh_config")
        // Each ends once it has seen the mark of the other.
        let folder = fixture.site.folder
        func meet(_ own: String, _ other: String) -> String {
            """
            touch '\(folder.file(own))'
            for turn in $(seq 200); do [ -e '\(folder.file(other))' ] && { echo met; exit 7; }; sleep 0.05; done
            """
        }
        async let one = server.run(meet("one", "two"), configuredBy: file, to: Intranet.name)
        async let two = server.run(meet("two", "one"), configuredBy: file, to: Intranet.name)
        for outcome in try await [one, two] {
            #expect(outcome.status == 7 && outcome.output == "met\n", "\(outcome.error)")
        }
        let unlisted = try await server.run("true", configuredBy: file, to: "payroll.corp.example")
        #expect(unlisted.status == 255, "\(unlisted.error)")
        #expect(unlisted.error.contains("payroll.corp.example"), "\(unlisted.error)")
        #expect(try await door.close() == 0)
    }

    /// Without ssh: what each of the two says comes back to it, while both are connected.
    @Test func twoConnectionsOfConnectAreOpenAtOnceWhileADoorIsOpen() async throws {
        let server = try TestServer { connection in
            while case let chunk = connection.read(), !chunk.isEmpty { connection.write(chunk) }
        }
        let fixture = try await DoorFixture.start()
        try await fixture.site.admin("server", "add", "127.0.0.1:\(server.port)", "--app", Site.app)
        let door = try await fixture.openDoor()
        func connect(_ text: String) throws -> ChildProcess {
            let command = "\(Programs.built("sallyport")) connect 127.0.0.1:\(server.port) --store \(fixture.store)"
            let input = "echo \(text); for _ in {1..200}; do [ -e \(fixture.store).seen ] && break; sleep 0.1; done"
            return try ChildProcess("/bin/bash", ["-c", "(\(input)) | \(command)"])
        }
        let (one, two) = (try connect("one"), try connect("two"))
        #expect(try await eventually { server.openConnections == 2 })
        #expect(FileManager.default.createFile(atPath: "\(fixture.store).seen", contents: nil))
        for (child, text) in [(one, "one\n"), (two, "two\n")] {
            let outcome = try await child.outcome()
            #expect(outcome.status == 0 && outcome.output == text, "\(outcome.error)")
        }
        #expect(try await door.close() == 0)
    }
}
