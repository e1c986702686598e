import Foundation
import TestSupport
import Testing

/// A headless Chromium that has no other way than the door.
@Suite(.timeLimit(.minutes(3)), .enabled("takes Chromium", Chromium.isThere)) struct DoorChromiumTests {
    @Test(arguments: ["http", "socks5"])
    func aPageWithAScriptComesThroughTheDoor(_ scheme: String) async throws {
        let fixture = try await DoorFixture.start()
        let door = try await fixture.openDoor()
        let proxy = "\(scheme)://127.0.0.1:\(door.port)"
        let page = try await Chromium(fixture, proxy).content(of: "\(fixture.inside.url)/page.html")
        #expect(page.contains("script: 42 The figures of today."), "\(page)")
        #expect(try await eventually { fixture.inside.log.contains { $0.contains("GET /page.html") } })
        #expect(fixture.inside.log.allSatisfy { $0.hasPrefix("\(Intranet.egress) ") }, "\(fixture.inside.log)")
        // Chromium shows a page of its own in the place of one that it does not get.
        let refused = try await Chromium(fixture, proxy).content(of: "\(fixture.inside.unlistedURL)/page.html")
        #expect(!refused.contains("script:"), "\(refused)")
        #expect(fixture.inside.unlistedLog.isEmpty)
        let (listed, unlisted) = (fixture.inside.port, fixture.inside.unlistedPort)
        #expect(
            try await eventually { door.records.contains { $0.target == "\(Intranet.name):\(unlisted)" } },
            "\(door.records)")
        let own = door.records.filter { $0.target?.hasPrefix(Intranet.name) == true }
        #expect(own.allSatisfy { $0.form == (scheme == "http" ? "connect" : "socks5") }, "\(own)")
        // Its makers' servers, which it asks in spite of all its options, are not listed either.
        let relayed = door.records.filter { $0.route != nil }
        #expect(Set(relayed.map(\.target)) == ["\(Intranet.name):\(listed)"], "\(door.records)")
    }

    @Test func aWipeEndsWhatIsBeingLoadedWithinASecond() async throws {
        let fixture = try await DoorFixture.start()
        let door = try await fixture.openDoor()
        let chromium = try Chromium(fixture, door.http)
        let browser = try chromium.start("\(fixture.inside.url)/slow.html")
        // Chromium has its page, and the first bytes of the picture: it waits for the others.
        let isAsked = try await eventually(within: .seconds(30)) {
            fixture.inside.log.contains { $0.contains("/slow.html") }
        }
        #expect(isAsked)
        try await Task.sleep(for: .milliseconds(500))
        #expect(browser.isRunning)
        #expect(!door.records.contains { $0.end == "withdrawn" })
        try await fixture.wipe()
        #expect(
            try await eventually(within: Soak.second) { door.records.contains { $0.end == "withdrawn" } },
            "\(door.records)")
        let page = try await chromium.content(of: browser, within: .seconds(20))
        #expect(page.contains("the picture failed"), "\(page)")
    }
}

/// A Chromium that prints pages, with a profile of its own.
private struct Chromium {
    private let proxy: String
    private let key: String
    private let folder: TemporaryDirectory

    static func isThere() async -> Bool {
        (try? await program("chromium", "--version"))?.status == 0
    }

    init(_ fixture: DoorFixture, _ proxy: String) throws {
        self.proxy = proxy
        key = Data(fixture.inside.identity.publicKeySHA256).base64EncodedString()
        folder = try TemporaryDirectory()
    }

    func start(_ url: String) throws -> ChildProcess {
        // As root it has no sandbox. What it would ask its makers' servers would be refused, and only be in the way.
        let options = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--disable-breakpad", "--disable-component-update", "--disable-sync",
            "--disable-default-apps",
            "--user-data-dir=\(folder.file("profile"))", "--proxy-server=\(proxy)",
            // Its authorities are in a database of NSS; a key is told more simply.
            "--ignore-certificate-errors-spki-list=\(key)", "--dump-dom",
        ]
        return try ChildProcess(
            "/usr/bin/env", ["chromium"] + options + [url],
            environment: ["HOME": folder.path, "XDG_CONFIG_HOME": folder.path, "XDG_CACHE_HOME": folder.path])
    }

    /// The page as it is once it is complete.
    func content(of url: String) async throws -> String {
        try await content(of: start(url), within: .seconds(45))
    }

    func content(of browser: ChildProcess, within limit: Duration) async throws -> String {
        let outcome = try await browser.outcome(within: limit)
        // Its helpers would end a moment later, and write into its folder until then.
        _ = try await eventually {
            browser.signalGroup(SIGKILL)
            try? FileManager.default.removeItem(atPath: folder.file("profile"))
            return !FileManager.default.fileExists(atPath: folder.file("profile"))
        }
        return outcome.output
    }
}
