import Foundation
import TestSupport
import Testing

/// What ends, fails or is in the way, and commands that the process of a door carries out.
@Suite(.timeLimit(.minutes(2))) struct DoorFaultTests {
    private func curl(_ fixture: DoorFixture, _ proxy: String, _ path: String) throws -> ChildProcess {
        try ChildProcess(
            "/usr/bin/env",
            [
                "curl", "-sS", "-N", "--max-time", "50", "--cacert", fixture.inside.authorityFile, "--proxy", proxy,
                "\(fixture.inside.url)\(path)",
            ])
    }

    // MARK: The administrator and the relay

    @Test func aServerThatIsTakenAwayIsLeftWithinASecond() async throws {
        let fixture = try await DoorFixture.start()
        let door = try await fixture.openDoor()
        let loading = try curl(fixture, door.http, "/slow.txt")
        #expect(try await eventually { loading.output.count >= 256 }, "\(loading.error)")
        try await fixture.site.admin("server", "remove", "\(Intranet.name):\(fixture.inside.port)")
        #expect(try await eventually(within: Soak.second) { !loading.isRunning })
        let outcome = try await loading.outcome()
        #expect([18, 56].contains(outcome.status), "\(outcome.status) \(outcome.error)")
        #expect(try await eventually { door.records.map(\.end) == ["refusedByPolicy"] }, "\(door.records)")
        let again = try await curl(fixture, door.http, "/report.txt").outcome()
        #expect(again.status == 56 && again.error.contains("403"), "\(again.error)")
    }

    @Test func aRelayThatDiesEndsWhatIsOpenAndTheDoorGoesOnWithTheNext() async throws {
        let fixture = try await DoorFixture.start()
        let door = try await fixture.openDoor()
        let loading = try curl(fixture, door.http, "/slow.txt")
        #expect(try await eventually { loading.output.count >= 256 }, "\(loading.error)")
        try await fixture.site.stopGateway(by: SIGKILL)
        let outcome = try await loading.outcome(within: .seconds(20))
        #expect([18, 56].contains(outcome.status), "\(outcome.status) \(outcome.error)")
        let without = try await curl(fixture, door.http, "/report.txt").outcome()
        #expect(without.status == 56 && without.error.contains("50"), "\(without.error)")
        try await fixture.site.startGateway()
        #expect(
            try await eventually(within: .seconds(60)) {
                try await curl(fixture, door.http, "/report.txt").outcome().status == 0
            })
        #expect(try await door.close() == 0)
    }

    /// Python's side ends what it sends first, or the server does; the other direction goes on.
    @Test func eitherSideMayEndWhatItSendsFirst() async throws {
        let server = try TestServer { connection in
            let isFirst = connection.read(upTo: 1) == Array("s".utf8)
            if isFirst { connection.endSending() } else { connection.write("+") }
            var count = 1
            while case let chunk = connection.read(), !chunk.isEmpty { count += chunk.count }
            if !isFirst { connection.write("\(count)") }
        }
        let fixture = try await DoorFixture.start()
        try await fixture.site.admin("server", "add", "127.0.0.1:\(server.port)", "--app", Site.app)
        let door = try await fixture.openDoor("-L", "0:127.0.0.1:\(server.port)")
        let script = """
            import socket, sys
            def connect():
                return socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=10)
            def rest(connection):
                text = b""
                while chunk := connection.recv(65536): text += chunk
                return text
            one = connect()
            one.sendall(b"c" * 1000000)
            # Its end comes once the door has let it in.
            print(one.recv(1).decode(), end="")
            one.shutdown(socket.SHUT_WR)
            print(rest(one).decode())
            two = connect()
            two.sendall(b"s")
            print(len(rest(two)))
            two.sendall(b"s" * 999999)
            two.close()
            """
        let outcome = try await program("python3", "-c", script, "\(door.forwardedPorts[0])")
        #expect(outcome.status == 0 && outcome.output == "+1000000\n0\n", "\(outcome.output)\(outcome.error)")
        #expect(try await eventually { door.records.count == 2 })
        #expect(door.records.map(\.sent) == [1_000_000, 1_000_000], "\(door.records)")
    }

    // MARK: Places

    @Test func aDoorThatWasKilledLeavesNothingInTheWay() async throws {
        let fixture = try await DoorFixture.start()
        let socket = fixture.site.folder.file("door.sock")
        let killed = try await fixture.openDoor("--socket", socket)
        killed.process.signal(SIGKILL)
        _ = try await killed.process.outcome()
        #expect(FileManager.default.fileExists(atPath: socket))
        let (url, trust) = ("\(fixture.inside.url)/report.txt", fixture.inside.authorityFile)
        let fetched = try await fixture.site.fetch(url, fixture.store, "--ca", trust)
        #expect(fetched.status == 0 && fetched.output == "The figures of today.\n", "\(fetched.error)")
        let none = try await sallyport("proxy", "env", "--store", fixture.store)
        #expect(none.status == 69, "\(none.status) \(none.error)")
        let door = try await fixture.openDoor("--socket", socket)
        let asked = try await curl(fixture, "socks5h://localhost\(socket)", "/report.txt").outcome()
        #expect(asked.status == 0, "\(asked.error)")
        #expect(try await door.close() == 0)
    }

    @Test func aPlaceThatIsTakenIsLeftToItsOwner() async throws {
        let fixture = try await DoorFixture.start()
        let (socket, other) = (fixture.site.folder.file("door.sock"), try await fixture.site.activatedStore("other"))
        let door = try await fixture.openDoor("--socket", socket)
        for place in [["--listen", "127.0.0.1:\(door.port)"], ["--socket", socket]] {
            let second = try await ChildProcess(
                Programs.built("sallyport"), ["proxy", "--store", other, "--json"] + place
            ).outcome()
            #expect(second.status == 69, "\(second.status) \(second.error)")
            #expect(try second.failure().name == "inUse", "\(second.error)")
        }
        let same = try await sallyport("proxy", "--store", fixture.store)
        #expect(same.status == 75, "\(same.status) \(same.error)")
        for proxy in [door.http, "socks5h://localhost\(socket)"] {
            let asked = try await curl(fixture, proxy, "/report.txt").outcome()
            #expect(asked.status == 0, "\(asked.error)")
        }
        #expect(try await door.close() == 0)
    }

    // MARK: Commands beside the door

    /// With the caller's folder, standard streams and exit status.
    @Test func commandsOnTheSameStoreAreCarriedOut() async throws {
        let fixture = try await DoorFixture.start()
        let door = try await fixture.openDoor()
        let script = """
            cd "$1"
            mkdir here && cd here
            "$2" fetch "$3/report.txt" --ca "$4" --store ../app -o report.txt && cat report.txt
            echo body | "$2" fetch "$3/echo" --ca "$4" --store ../app -d @- && echo
            "$2" fetch "$3/none" --ca "$4" --store ../app --fail > none.txt; echo $?
            "$2" fetch "$5/none" --ca "$4" --store ../app --json 2> refused.json; echo $?
            tail -n 1 refused.json | grep -o '"name":"refusedByPolicy"'
            "$2" token get --store ../app | wc -l
            "$2" status --store ../app | grep state
            """
        let (inside, path) = (fixture.inside, Programs.built("sallyport"))
        let outcome = try await program(
            "bash", "-c", script, "bash", fixture.site.folder.path, path, inside.url, inside.authorityFile,
            inside.unlistedURL)
        let wanted = [
            "The figures of today.", "POST ", "22", "77", "\"name\":\"refusedByPolicy\"", "1", "state: authorized",
        ]
        #expect(outcome.output == wanted.map { $0 + "\n" }.joined(), "\(outcome.output)\(outcome.error)")
        #expect(inside.unlistedLog.isEmpty)
        #expect(try await door.close() == 0)
    }

    @Test func filesOfACommandGetTheModesThatItsCallerWouldGiveThem() async throws {
        let fixture = try await DoorFixture.start()
        let door = try await fixture.openDoor()
        let script = """
            cd "$1"
            for mask in 077 002; do
                umask $mask
                "$2" fetch "$3/report.txt" --ca "$4" --store app -o $mask.txt && stat -c %a $mask.txt
            done
            """
        let outcome = try await program(
            "bash", "-c", script, "bash", fixture.site.folder.path, Programs.built("sallyport"), fixture.inside.url,
            fixture.inside.authorityFile)
        #expect(outcome.output == "600\n664\n", "\(outcome.output)\(outcome.error)")
        #expect(try await door.close() == 0)
    }

    /// The door has no such descriptor, or another file under its number.
    @Test func aDescriptorOfTheCallerIsNotSoughtInTheDoor() async throws {
        let fixture = try await DoorFixture.start()
        let door = try await fixture.openDoor()
        let script = "\"$1\" fetch \"$2/report.txt\" --ca <(cat \"$3\") --store \"$4\"; echo $?"
        let outcome = try await program(
            "bash", "-c", script, "bash", Programs.built("sallyport"), fixture.inside.url, fixture.inside.authorityFile,
            fixture.store)
        #expect(outcome.output == "64\n" && outcome.error.contains("/dev/fd/"), "\(outcome.output)\(outcome.error)")
        #expect(fixture.inside.log.isEmpty)
        #expect(try await door.close() == 0)
    }

    /// A FIFO may never get a writer, and each thread that waited for one would be lost to all connections.
    @Test func commandsThatWaitForAFIFOLeaveTheDoorToOthers() async throws {
        let fixture = try await DoorFixture.start()
        let door = try await fixture.openDoor()
        let url = "\(fixture.inside.url)/report.txt"
        var (waiting, writers): ([ChildProcess], [Int32]) = ([], [])
        defer { for writer in writers { close(writer) } }
        // As many as the door has threads for tasks.
        for number in 0..<ProcessInfo.processInfo.activeProcessorCount {
            let fifo = fixture.site.folder.file("fifo\(number)")
            try #require(mkfifo(fifo, 0o600) == 0)
            waiting.append(
                try ChildProcess(
                    Programs.built("sallyport"), ["fetch", url, "--store", fixture.store, "--ca", fifo]))
            writers.append(try await writer(of: fifo))
        }
        let fetched = try await fixture.site.fetch(
            url, fixture.store, "--ca", fixture.inside.authorityFile, limit: .seconds(30))
        #expect(fetched.status == 0 && fetched.output == "The figures of today.\n", "\(fetched.error)")
        for command in waiting { command.signal(SIGINT) }
        #expect(try await door.close() == 0)
    }

    /// A FIFO may never be read either, and a record is told on a thread that serves connections.
    @Test func commandsWhoseRecordsAreNotReadLeaveTheDoorToOthers() async throws {
        let fixture = try await DoorFixture.start()
        let door = try await fixture.openDoor()
        let url = "\(fixture.inside.url)/report.txt"
        var (waiting, readers): ([ChildProcess], [Int32]) = ([], [])
        defer { for reader in readers { close(reader) } }
        let filling = [UInt8](repeating: 0, count: Int(PIPE_BUF))
        for number in 0..<ProcessInfo.processInfo.activeProcessorCount {
            let fifo = fixture.site.folder.file("fifo\(number)")
            try #require(mkfifo(fifo, 0o600) == 0)
            let reader = open(fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            readers.append(reader)
            while write(reader, filling, filling.count) > 0 {}
            waiting.append(
                try ChildProcess(
                    Programs.built("sallyport"),
                    [
                        "fetch", url, "--store", fixture.store, "--ca", fixture.inside.authorityFile, "--record", fifo,
                    ]))
        }
        #expect(try await eventually { fixture.inside.log.count == waiting.count })
        let fetched = try await fixture.site.fetch(
            url, fixture.store, "--ca", fixture.inside.authorityFile, limit: .seconds(30))
        #expect(fetched.status == 0 && fetched.output == "The figures of today.\n", "\(fetched.error)")
        for command in waiting {
            #expect(command.isRunning)
            command.signal(SIGINT)
        }
        #expect(try await door.close() == 0)
    }

    /// Opens a FIFO once a reader has opened it.
    private func writer(of fifo: String) async throws -> Int32 {
        for _ in 0..<2_000 {
            let number = open(fifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
            guard number < 0 else { return number }
            try await Task.sleep(for: .milliseconds(10))
        }
        throw Unexpected("Nothing reads \(fifo).")
    }

    @Test func aCommandThatIsKilledTakesItsConnectionWithIt() async throws {
        let server = try TestServer { $0.awaitEnd() }
        let fixture = try await DoorFixture.start()
        try await fixture.site.admin("server", "add", "127.0.0.1:\(server.port)", "--app", Site.app)
        let door = try await fixture.openDoor()
        let command = "\(Programs.built("sallyport")) connect 127.0.0.1:\(server.port) --store \(fixture.store)"
        let fifo = fixture.site.folder.file("fifo")
        #expect(mkfifo(fifo, 0o600) == 0)
        let child = try ChildProcess("/bin/bash", ["-c", "exec \(command) <> \(fifo)"])
        #expect(try await eventually { server.openConnections == 1 })
        child.signal(SIGKILL)
        #expect(try await eventually { server.openConnections == 0 })
        #expect(door.process.isRunning)
        #expect(try await door.close() == 0)
    }
}
