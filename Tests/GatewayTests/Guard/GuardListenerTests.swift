import Foundation
import Logging
import SallyportBase
import SallyportCore
import SallyportSocketDiagnosis
import TestSupport
import Testing

@testable import SallyportGateway

/// A guard's socket, and what asks it.
@Suite(.timeLimit(.minutes(1))) struct GuardListenerTests {
    private let folder: TemporaryDirectory
    private let policy = StubPolicy(.allowed(instance: "one", address: nil, mayBeLocal: false))
    private var path: String { folder.file("guard.sock") }

    init() throws { folder = try TemporaryDirectory() }

    private func service(users: Set<UInt32> = []) throws -> GuardService {
        try GuardService(
            .init(path: path, users: users, port: nil), policy: policy, maximumTunnels: 10,
            logger: Logger(label: "guard"))
    }

    private func withGuard(users: Set<UInt32> = [], _ body: () async throws -> Void) async throws {
        let running = try await service(users: users).start()
        let task = Task { await running.run() }
        do { try await body() } catch {
            task.cancel()
            await task.value
            throw error
        }
        task.cancel()
        await task.value
    }

    private static func question() throws -> GuardQuestion {
        let ends = SocketEnds(local: SocketEnd(.v4(1), port: 1), remote: SocketEnd(.v4(2), port: 2))
        return GuardQuestion(ends: ends, target: try Endpoint("a.example:443"), certificate: [1])
    }

    @Test func aQuestionIsAnsweredByThePresentPolicy() async throws {
        try await withGuard { () async throws in
            let client = GuardClient(path: path)
            #expect(try await client.ask(Self.question()) == .allowed(instance: "one"))
            policy.set(StubPolicy.denied)
            #expect(try await client.ask(Self.question()) == .refused("Not for you."))
        }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func theModeIsForThoseWhoMayAsk() async throws {
        for (users, mode) in [(Set<UInt32>(), 0o600), ([65_534], 0o666)] {
            try await withGuard(users: users) { () async throws in
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                #expect(attributes[.posixPermissions] as? Int == mode)
            }
        }
    }

    @Test func usersThatAreNotListedAreRefused() throws {
        let relayGuard = try RelayGuard(
            policy: policy, endingTunnelsAt: nil, maximumTunnels: 1, logger: Logger(label: "guard"))
        let services = GuardListener.Services(relayGuard, users: [33], logger: Logger(label: "guard"))
        #expect(services.isAllowed(33) && services.isAllowed(0) && services.isAllowed(getuid()))
        #expect(!services.isAllowed(65_533))
        // Of another user namespace.
        let inside = GuardListener.Services(
            relayGuard, users: [33, 65_534], overflow: 65_534, logger: Logger(label: "guard"))
        #expect(inside.isAllowed(33) && !inside.isAllowed(65_534))
    }

    @Test func withoutAGuardNothingIsAllowed() async throws {
        guard case .unavailable(let message) = await GuardClient(path: path).ask(try Self.question()) else {
            return #expect(Bool(false))
        }
        #expect(message.contains(path) && message.contains("cannot be reached"))
    }

    /// It listens, and answers nothing.
    @Test func aGuardThatHangsIsNotWaitedForLong() async throws {
        let descriptor = try listen()
        defer { close(descriptor) }
        let start = ContinuousClock.now
        let answer = await GuardClient(path: path, patience: .milliseconds(300)).ask(try Self.question())
        guard case .unavailable(let message) = answer else { return #expect(Bool(false)) }
        #expect(message.contains("does not answer") && .now - start < .seconds(5))
    }

    @Test func whatIsNoQuestionIsAnsweredSo() async throws {
        try await withGuard { () async throws in
            #expect(try await exchange("nonsense\n") == "BH A line has seven fields.\n")
            let long = String(repeating: "a", count: GuardQuestion.maximumLine + 10) + "\n"
            #expect(try await exchange(long) == "BH The line is longer than 16384 bytes.\n")
        }
    }

    @Test func aFileThatIsNoSocketStays() async throws {
        try folder.write("mine", to: "guard.sock")
        await #expect(throws: GatewayError.self) { _ = try await service().start() }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
    }

    @Test func aSecondGuardDoesNotTakeThePlaceOfTheFirst() async throws {
        try await withGuard { () async throws in
            do {
                _ = try await service().start()
                #expect(Bool(false))
            } catch { #expect((error as? GatewayError)?.code == .inUse) }
            #expect(try await GuardClient(path: path).ask(Self.question()) == .allowed(instance: "one"))
        }
        // What a process left behind is in no guard's way.
        close(try listen())
        try await withGuard {}
    }

    // MARK: Sockets

    private func address() -> sockaddr_un {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        return address
    }

    private func use(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var place = address()
        return withUnsafePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    private func listen() throws -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard use({ bind(descriptor, $0, $1) }) == 0, Glibc.listen(descriptor, 8) == 0 else {
            throw Unexpected("listen: \(errno)")
        }
        return descriptor
    }

    /// What comes back up to the end of the connection.
    private func exchange(_ text: String) async throws -> String {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        guard use({ connect(descriptor, $0, $1) }) == 0 else { throw Unexpected("connect: \(errno)") }
        let bytes = Array(text.utf8)
        guard send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw Unexpected("send: \(errno)")
        }
        var answer: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 2048)
        while case let count = recv(descriptor, &room, room.count, 0), count > 0 { answer += room.prefix(count) }
        return String(decoding: answer, as: UTF8.self)
    }
}
