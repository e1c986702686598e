import Foundation
import TestSupport
import Testing

@testable import SallyportCommandLine

/// `sallyport run`: what the program gets, and what its end is.
@Suite(.timeLimit(.minutes(2))) struct DoorRunTests {
    /// `unshare` as the program under test starts it.
    private static func isIsolationAllowed() async -> Bool {
        (try? await program("unshare", "--user", "--map-current-user", "--net", "--keep-caps", "true"))?.status == 0
    }

    @Test func theExitStatusIsTheProgramsOwn() async throws {
        let fixture = try await DoorFixture.start()
        let ended = try await fixture.run("sh", "-c", "echo \"$http_proxy $1\"; exit 7", "sh", "a b")
        #expect(ended.status == 7, "\(ended.error)")
        #expect(ended.output.hasPrefix("http://127.0.0.1:") && ended.output.hasSuffix(" a b\n"), "\(ended.output)")
        #expect(ended.error.isEmpty, "\(ended.error)")
        #expect(try await fixture.run("sh", "-c", "kill -9 $$").status == 137)
        let missing = try await fixture.run("/nonexistent/program")
        #expect(missing.status == 127 && missing.error.contains("/nonexistent/program"), "\(missing.error)")
        #expect(try await fixture.run("/").status == 126)
        // The door has ended with each of them: the store is free.
        let status = try await sallyport("status", "--store", fixture.store)
        #expect(status.status == 0, "\(status.error)")
    }

    @Test(arguments: [SIGTERM, SIGINT, SIGHUP, SIGQUIT])
    func signalsGoToTheProgram(_ signal: Int32) async throws {
        let fixture = try await DoorFixture.start()
        let script = "trap 'echo told; exit 9' \(signal); echo ready; while :; do sleep 0.05; done"
        let child = try fixture.running(["sh", "-c", script])
        #expect(try await eventually { child.output == "ready\n" })
        child.signal(signal)
        let outcome = try await child.outcome()
        #expect(outcome.status == 9 && outcome.output == "ready\ntold\n", "\(outcome.error)")
    }

    /// Nor need a value begin with a character of its own: a combining mark is one with the equals sign before it.
    @Test func wordsAndVariablesNeedNotBeUTF8() async throws {
        let fixture = try await DoorFixture.start()
        let script = #"""
            LATIN=$(printf 'caf\351') MARK=$(printf '\314\201mark')
            export LATIN MARK
            exec "$1" run --store "$2" $3 -- sh -c 'printf %s "$1|$LATIN|$MARK" | od -An -v -tx1' sh "$LATIN"
            """#
        let options = await Self.isIsolationAllowed() ? ["", "--isolate"] : [""]
        for option in options {
            let ran = try await program("sh", "-c", script, "sh", Programs.built("sallyport"), fixture.store, option)
            #expect(ran.output == " 63 61 66 e9 7c 63 61 66 e9 7c cc 81 6d 61 72 6b\n", "\(option) \(ran.error)")
        }
    }

    /// A door of its own raises the limit of its process.
    @Test func theProgramHasTheLimitOfDescriptorsThatWasGiven() async throws {
        let fixture = try await DoorFixture.start()
        let script = "ulimit -Sn 500; exec \"$1\" run --store \"$2\" -- sh -c 'ulimit -Sn'"
        let ran = try await program("sh", "-c", script, "sh", Programs.built("sallyport"), fixture.store)
        #expect(ran.status == 0 && ran.output == "500\n", "\(ran.output)\(ran.error)")
    }

    @Test func itUsesTheDoorThatIsOpen() async throws {
        let fixture = try await DoorFixture.start()
        let door = try await fixture.openDoor()
        let script = "echo $https_proxy; curl -sS \(fixture.inside.url)/report.txt; exit 3"
        let ran = try await fixture.run("sh", "-c", script)
        #expect(ran.status == 3 && ran.output == "\(door.http)\nThe figures of today.\n", "\(ran.error)")
        #expect(try await eventually { door.records.count == 1 })
        #expect(try await door.close() == 0)
    }

    /// `git pull` works in the topmost folder, wherever below it was given.
    @Test func theFileOfAuthoritiesIsFoundFromAnotherFolder() async throws {
        let fixture = try await DoorFixture.start()
        let script = """
            cd "$1" && exec "$2" run --store "$3" --ca ca.pem -- sh -c "cd / && curl -sS $4/report.txt"
            """
        let ran = try await program(
            "bash", "-c", script, "bash", fixture.inside.folder.path, Programs.built("sallyport"), fixture.store,
            fixture.inside.url)
        #expect(ran.status == 0 && ran.output == "The figures of today.\n", "\(ran.error)")
    }

    /// A program that is held to the door has its user, and reaches its socket.
    @Test func theDoorsProcessCarriesOutNothingElse() async throws {
        let fixture = try await DoorFixture.start()
        let door = try await fixture.openDoor()
        let told = fixture.site.folder.file("told")
        let stream = open(told, O_RDWR | O_CREAT, 0o600)
        defer { close(stream) }
        for arguments in [["run", "--store", fixture.store, "--", "true"], ["inside", "--link", "0", "--", "true"]] {
            let asked = try #require(RunningDoor(store: fixture.store))
            #expect(try asked.run(arguments, streams: [stream, stream, stream]) == .usage)
        }
        let text = try String(contentsOfFile: told, encoding: .utf8)
        #expect(text.contains("The process of a door carries out only what uses its app"), "\(text)")
        #expect(try await door.close() == 0)
    }

    @Test(.enabled("takes user and network namespaces", isIsolationAllowed), arguments: [false, true])
    func anIsolatedProgramHasTheDoorAndNothingElse(_ isDoorOpen: Bool) async throws {
        let fixture = try await DoorFixture.start()
        let door = isDoorOpen ? try await fixture.openDoor() : nil
        let server = try TestServer { $0.awaitEnd() }
        let script = """
            curl -sS --max-time 40 \(fixture.inside.url)/report.txt
            curl -sS --max-time 40 -o /dev/null -w '%{http_connect}\\n' \(fixture.inside.unlistedURL)/ 2>/dev/null
            for place in \(Intranet.address) \(fixture.inside.plainPort) 127.0.0.1 \(server.port) 192.0.2.1 443; do
                if [ -z "$host" ]; then host=$place; continue; fi
                curl -sS --noproxy '*' --max-time 2 "http://$host:$place/" >/dev/null 2>&1 && echo "reached $host"
                host=
            done
            tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '
            id -u
            exit 5
            """
        let ran = try await fixture.run("sh", "-c", script, options: ["--isolate"])
        #expect(ran.status == 5, "\(ran.error)")
        #expect(ran.output == "The figures of today.\n403\nlo\n\(getuid())\n", "\(ran.output)\(ran.error)")
        #expect(try await eventually { fixture.inside.log.count == 1 }, "\(fixture.inside.log)")
        #expect(fixture.inside.unlistedLog.isEmpty)
        #expect(server.acceptedConnections == 0)
        let child = try fixture.running(
            ["sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done"], options: ["--isolate"])
        #expect(try await eventually { child.output == "ready\n" }, "\(child.error)")
        child.signal(SIGTERM)
        #expect(try await child.outcome().status == 9)
        if let door { #expect(try await door.close() == 0) }
    }

    /// No shell: dash unblocks signals itself once it has run a program.
    @Test(.enabled("takes user and network namespaces", isIsolationAllowed))
    func anIsolatedProgramStartsWithNoSignalBlocked() async throws {
        let fixture = try await DoorFixture.start()
        let ran = try await fixture.run("grep", "SigBlk", "/proc/self/status", options: ["--isolate"])
        #expect(ran.output == "SigBlk:\t0000000000000000\n", "\(ran.output)\(ran.error)")
    }

    /// In a namespace in which this user is not root: at exec the kernel takes the capabilities of any other.
    @Test(.enabled("takes user and network namespaces", isIsolationAllowed))
    func aUserOtherThanRootIsolatesAProgramToo() async throws {
        let fixture = try await DoorFixture.start()
        let script = """
            curl -sS --max-time 40 \(fixture.inside.url)/report.txt
            id -u
            grep -E 'CapEff|CapPrm|CapAmb' /proc/self/status | tr -d '[:space:]'
            """
        let ran = try await program(
            "unshare", "--user", "--map-user=1000", "--map-group=1000", "--", Programs.built("sallyport"), "run",
            "--isolate", "--store", fixture.store, "--ca", fixture.inside.authorityFile, "--", "sh", "-c", script)
        let none = String(repeating: "0", count: 16)
        #expect(ran.status == 0, "\(ran.error)")
        #expect(
            ran.output == "The figures of today.\n1000\nCapPrm:\(none)CapEff:\(none)CapAmb:\(none)",
            "\(ran.output)\(ran.error)")
    }

    /// In a namespace of users that may have none inside it.
    @Test(.enabled("takes user and network namespaces", isIsolationAllowed))
    func whereNamespacesAreForbiddenNothingIsStarted() async throws {
        let fixture = try await DoorFixture.start()
        let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\""
        let ran = try await program(
            "unshare", "--user", "--map-root-user", "sh", "-c", script, "sh", Programs.built("sallyport"), "run",
            "--isolate", "--store", fixture.store, "--", "echo", "started")
        #expect(ran.status == 69 && ran.output.isEmpty, "\(ran.status) \(ran.output)")
        #expect(ran.error.contains("cannot be isolated"), "\(ran.error)")
    }

    @Test func aWipeEndsALongDownloadWithinASecond() async throws {
        let fixture = try await DoorFixture.start()
        let child = try fixture.running(["curl", "-sS", "-N", "\(fixture.inside.url)/slow.txt"])
        #expect(try await eventually { child.output.count >= 256 }, "\(child.error)")
        try await fixture.wipe()
        #expect(try await eventually(within: Soak.second) { !child.isRunning })
        let outcome = try await child.outcome()
        // 18: part of a file; 56 where TLS was cut off without a word.
        #expect([18, 56].contains(outcome.status), "\(outcome.status) \(outcome.error)")
    }
}
