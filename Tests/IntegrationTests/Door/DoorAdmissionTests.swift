import Foundation
import TestSupport
import Testing

/// Whom `sallyport proxy` lets in.
@Suite(.timeLimit(.minutes(2)), .enabled(if: getuid() == 0, "takes root, to be another user"))
struct DoorAdmissionTests {
    private static let stranger = "65532"

    /// curl as another user of this machine; prints the status, and what was answered.
    private func curl(_ proxy: String, _ fixture: DoorFixture, _ options: String...) async throws -> Outcome {
        let user = ["--reuid", Self.stranger, "--regid", Self.stranger, "--clear-groups", "--"]
        let words = ["curl", "-sS", "--max-time", "40", "-w", "%{http_code}", "--proxy", proxy]
        return try await ChildProcess(
            "/usr/bin/setpriv", user + words + options + ["\(fixture.inside.plainURL)/report.txt"]
        ).outcome()
    }

    /// A Unix socket that others find; whether they may connect to it is the door's to say.
    private func socket(_ fixture: DoorFixture) throws -> String {
        try FileManager.default.setAttributes([.posixPermissions: 0o711], ofItemAtPath: fixture.site.folder.path)
        return fixture.site.folder.file("door.sock")
    }

    @Test func anotherUserIsRefused() async throws {
        let fixture = try await DoorFixture.start()
        let socket = try socket(fixture)
        let door = try await fixture.openDoor("--socket", socket)
        let asked = try await curl(door.http, fixture)
        #expect(!asked.output.contains("figures") && !asked.output.hasSuffix("200"), "\(asked.output)")
        #expect(asked.output.hasSuffix("403") || asked.output.hasSuffix("407"), "\(asked.output)\(asked.error)")
        for proxy in [door.socks, "socks5h://localhost\(socket)"] {
            let refused = try await curl(proxy, fixture)
            #expect(refused.status != 0 && refused.output == "000", "\(proxy) \(refused.output)\(refused.error)")
        }
        #expect(fixture.inside.log.isEmpty)
        let records = door.records
        #expect(records.allSatisfy { $0.user == 65532 && $0.route == nil }, "\(records)")
    }

    /// Where some other user may come in, all may connect to the Unix socket: the kernel tells who it is.
    @Test func aUserThatIsNotTheAllowedOneIsRefused() async throws {
        let fixture = try await DoorFixture.start()
        let socket = try socket(fixture)
        let door = try await fixture.openDoor("--socket", socket, "--allow-user", "65533")
        for proxy in [door.socks, "socks5h://localhost\(socket)"] {
            let refused = try await curl(proxy, fixture)
            #expect(refused.status != 0 && refused.output == "000", "\(proxy) \(refused.output)\(refused.error)")
        }
        #expect(fixture.inside.log.isEmpty)
        #expect(try await eventually { door.records.map(\.user) == [65532, 65532] }, "\(door.records)")
    }

    @Test func anAllowedUserComesIn() async throws {
        let fixture = try await DoorFixture.start()
        let socket = try socket(fixture)
        let door = try await fixture.openDoor("--socket", socket, "--allow-user", Self.stranger)
        for proxy in [door.http, door.socks, "socks5h://localhost\(socket)"] {
            let asked = try await curl(proxy, fixture)
            #expect(asked.output == "The figures of today.\n200", "\(proxy) \(asked.output)\(asked.error)")
        }
        #expect(try await eventually { door.records.count == 3 })
        #expect(door.records.allSatisfy { $0.user == 65532 && $0.end == "complete" }, "\(door.records)")
    }

    @Test func theCredentialLetsAnotherUserIn() async throws {
        let fixture = try await DoorFixture.start()
        let (socket, file) = (try socket(fixture), fixture.site.folder.file("credential"))
        let door = try await fixture.openDoor("--socket", socket, "--credential-file", file)
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o600)
        let password = try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .newlines)
        let proxies = [door.http, door.socks, "socks5h://localhost\(socket)"]
        for proxy in proxies {
            let asked = try await curl(proxy, fixture, "--proxy-user", "sallyport:\(password)")
            #expect(asked.output == "The figures of today.\n200", "\(proxy) \(asked.output)\(asked.error)")
        }
        let last = password.last == "A" ? "B" : "A"
        for wrong in ["", String(password.dropLast()), password.dropLast() + last, password + "A"] {
            let refused = try await curl(door.http, fixture, "--proxy-user", "sallyport:\(wrong)")
            #expect(refused.output.hasSuffix("407"), "\(refused.output)\(refused.error)")
            for proxy in proxies.dropFirst() where !wrong.isEmpty {
                let refused = try await curl(proxy, fixture, "--proxy-user", "sallyport:\(wrong)")
                #expect(refused.status == 97 && refused.output == "000", "\(refused.output)\(refused.error)")
            }
        }
        let unasked = try await curl(door.http, fixture)
        #expect(unasked.output.hasSuffix("407"), "\(unasked.output)\(unasked.error)")
        #expect(try await eventually { fixture.inside.log.count == 3 }, "\(fixture.inside.log)")
    }
}
