import Foundation
import SallyportBase
import TestSupport
import Testing

/// A gateway and an app, each in a network namespace of its own, and the cable between them, which the test pulls.
@Suite(.timeLimit(.minutes(3)), .enabled("takes root and network namespaces", NetworkNamespace.isAllowed))
struct NamespaceTests {
    /// A line of the child.
    private struct Told {
        var at: Int
        var number: Int
        var hasNetwork: Bool
        var hasPush: Bool
        var isReachable: Bool { number > 0 }

        init?(_ line: Substring) {
            let parts = line.split(separator: " ").compactMap { Int($0) }
            guard parts.count == 4 else { return nil }
            (at, number, hasNetwork, hasPush) = (parts[0], parts[1], parts[2] == 1, parts[3] == 1)
        }
    }

    /// Milliseconds in which a loss or a return is told; in the suite they include what a busy machine adds.
    private static let limit = Soak.isOn ? 5000 : 15_000

    private func told(_ app: ChildProcess) -> [Told] {
        // The last line may not be whole.
        app.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().compactMap { Told($0) }
    }

    private func first(
        _ app: ChildProcess, since start: Int, within limit: Duration = .seconds(30), _ isWanted: (Told) -> Bool
    ) async throws -> Told {
        let isThere = try await eventually(within: limit) { told(app).contains { $0.at >= start && isWanted($0) } }
        try #require(isThere, "\(app.output)\n\(app.error)")
        return try #require(told(app).first { $0.at >= start && isWanted($0) })
    }

    @Test func aPulledLinkIsALossAndItsReturnIsNoticedAtOnce() async throws {
        let wire = try await Wire()
        let app = try await wire.startApp()
        let up = try await first(app, since: 0) { $0.isReachable && $0.hasPush }
        // One end of a pair.
        #expect(up.number == 5 && up.hasNetwork)

        // In the suite the machine may be late by more than that, but hardly each time.
        var times: [Int] = []
        for _ in 0..<(Soak.isOn ? 1 : 3) where times.allSatisfy({ $0 > 1000 }) {
            times.append(try await lossAndReturn(wire, app))
        }
        #expect(times.contains { $0 <= 1000 }, "\(times) ms")

        // An interruption of less than 2 s is not reported.
        for _ in 0..<3 { if try await interruption(wire, app) < 1900 { break } }
        app.signal(SIGTERM)
        _ = try? await app.outcome(within: .seconds(10))
    }

    /// Pulls the cable, and puts it back once the app has noticed.
    ///
    /// - Returns: after how many milliseconds the return was noticed.
    private func lossAndReturn(_ wire: Wire, _ app: ChildProcess) async throws -> Int {
        let pulled = monotonicMilliseconds()
        try await wire.set("down")
        // It happened between the two.
        let isPulled = monotonicMilliseconds()
        let loss = try await first(app, since: pulled) { !$0.isReachable }
        #expect(loss.at - isPulled <= Self.limit && loss.at - pulled >= 2000, "\(loss.at - isPulled) ms")
        _ = try await first(app, since: pulled) { !$0.hasNetwork }

        let plugged = monotonicMilliseconds()
        try await wire.set("up")
        let isPlugged = monotonicMilliseconds()
        let back = try await first(app, since: plugged) { $0.isReachable }
        _ = try await first(app, since: plugged) { $0.isReachable && $0.hasPush && $0.hasNetwork }
        return back.at - isPlugged
    }

    /// Pulls the cable for one and a half seconds, and expects that nothing is told if it was less than two indeed: the
    /// two commands take their time too.
    ///
    /// - Returns: how many milliseconds it was at most.
    private func interruption(_ wire: Wire, _ app: ChildProcess) async throws -> Int {
        let (count, start) = (told(app).count, monotonicMilliseconds())
        try await wire.set("down")
        try await Task.sleep(for: .milliseconds(1500))
        try await wire.set("up")
        let time = monotonicMilliseconds() - start
        try await Task.sleep(for: .seconds(6))
        if time < 1900 { #expect(told(app).count == count, "\(app.output)") }
        _ = try await eventually { told(app).last.map { $0.isReachable && $0.hasPush && $0.hasNetwork } ?? false }
        return time
    }

    /// The other end falls silent: no word of the kernel's, no end of a connection.
    @Test func aGatewayThatIsCutOffIsNoticedByItsSilence() async throws {
        let wire = try await Wire()
        let app = try await wire.startApp()
        _ = try await first(app, since: 0) { $0.isReachable && $0.hasPush }
        let cut = monotonicMilliseconds()
        try await wire.silence(true)
        let isCut = monotonicMilliseconds()
        let loss = try await first(app, since: cut) { !$0.isReachable }
        #expect(loss.at - isCut <= Self.limit && loss.at - cut >= 2000, "\(loss.at - isCut) ms")
        #expect(loss.hasNetwork)
        let back = monotonicMilliseconds()
        try await wire.silence(false)
        let isBack = monotonicMilliseconds()
        let found = try await first(app, since: back) { $0.isReachable }
        #expect(found.at - isBack <= Self.limit, "\(found.at - isBack) ms")
        _ = try await first(app, since: back) { $0.isReachable && $0.hasPush }
        app.signal(SIGTERM)
        _ = try? await app.outcome(within: .seconds(10))
    }

    @Test func aGatewayThatStartsAnewIsFoundAgain() async throws {
        let wire = try await Wire()
        let app = try await wire.startApp()
        _ = try await first(app, since: 0) { $0.isReachable && $0.hasPush }
        let ended = monotonicMilliseconds()
        await wire.stopGateway()
        let isOver = monotonicMilliseconds()
        let loss = try await first(app, since: ended) { !$0.isReachable }
        #expect(loss.at - isOver <= Self.limit && !loss.hasPush)
        let started = monotonicMilliseconds()
        try await wire.startGateway()
        let ready = monotonicMilliseconds()
        let back = try await first(app, since: started) { $0.isReachable }
        #expect(back.at - ready <= Self.limit, "\(back.at - ready) ms")
        app.signal(SIGTERM)
        _ = try? await app.outcome(within: .seconds(10))
    }
}

/// Two namespaces, a pair of interfaces between them, a gateway in the one.
private final class Wire: Sendable {
    private static let (outside, inside) = ("10.231.77.1", "10.231.77.2")
    private static let last = Lock(0)

    private let (gatewaySpace, appSpace): (String, String)
    private let folder: TemporaryDirectory
    private let gateway = Lock<ChildProcess?>(nil)

    init() async throws {
        let number = Self.last.withLock { last in
            last += 1
            return last
        }
        (gatewaySpace, appSpace) = ("sallyport-g\(getpid())-\(number)", "sallyport-a\(getpid())-\(number)")
        folder = try TemporaryDirectory()
        try await Self.shell(
            """
            set -e
            ip netns add \(gatewaySpace)
            ip netns add \(appSpace)
            ip -n \(gatewaySpace) link add wire type veth peer name wire netns \(appSpace)
            for end in "\(gatewaySpace) \(Self.outside)" "\(appSpace) \(Self.inside)"; do
                set -- $end
                ip -n $1 link set lo up
                ip -n $1 addr add $2/24 dev wire
                ip -n $1 link set wire up
            done
            """)
        let made = try await sallyport(
            "gateway", "init", "--data", folder.file("gateway"), "--name", Self.outside)
        try #require(made.status == 0, "\(made.error)")
        try await startGateway()
    }

    deinit {
        let (one, other) = (gatewaySpace, appSpace)
        gateway.withLock { $0 }?.signal(SIGTERM)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["sh", "-c", "PATH=$PATH:/usr/sbin:/sbin; ip netns del \(one); ip netns del \(other)"]
        process.standardError = FileHandle.nullDevice
        try? process.run()
        process.waitUntilExit()
    }

    /// In the app's namespace, activated.
    func startApp() async throws -> ChildProcess {
        _ = try await admin(["apply", "-f", folder.write(Site.declaration(), to: "site.yaml")])
        let link = try await admin(["key", "issue", Site.user, Site.app])
        let file = try folder.write(link, to: "link")
        let store = folder.file("app")
        try await Self.shell(
            "ip netns exec \(appSpace) \(Programs.built("sallyport")) activate --link-file \(file) --store \(store)")
        return try ChildProcess(
            "/usr/bin/env", ["ip", "netns", "exec", appSpace, Programs.built("ReachabilityChild"), store])
    }

    func startGateway() async throws {
        let child = try ChildProcess(
            "/usr/bin/env",
            [
                "ip", "netns", "exec", gatewaySpace, Programs.built("sallyport"), "gateway", "run", "--data",
                folder.file("gateway"), "--control", "\(Self.outside):17433", "--relay", "\(Self.outside):17533",
                "--json",
            ])
        let isReady = try await eventually(within: .seconds(30)) { child.output.hasSuffix("\n") || !child.isRunning }
        try #require(isReady && child.isRunning, "\(child.error)")
        gateway.withLock { $0 = child }
    }

    func stopGateway() async {
        let child = gateway.withLock { $0.take() }
        child?.signal(SIGKILL)
        _ = try? await child?.outcome(within: .seconds(10))
    }

    private func admin(_ arguments: [String]) async throws -> String {
        let outcome = try await ChildProcess(
            Programs.built("sallyport"), ["admin"] + arguments + ["--data", folder.file("gateway")]
        ).outcome()
        try #require(outcome.status == 0, "\(outcome.error)")
        return outcome.output
    }

    /// Of the app's end.
    func set(_ state: String) async throws { try await Self.shell("ip -n \(appSpace) link set wire \(state)") }

    /// The gateway's packets to the app go nowhere, and the app hears nothing of it.
    func silence(_ isSilent: Bool) async throws {
        let verb = isSilent ? "add" : "del"
        try await Self.shell("ip -n \(gatewaySpace) route \(verb) blackhole \(Self.inside)/32")
    }

    private static func shell(_ script: String) async throws {
        let outcome = try await ChildProcess("/bin/sh", ["-c", "PATH=$PATH:/usr/sbin:/sbin\n" + script]).outcome()
        try #require(outcome.status == 0, "\(outcome.error)")
    }
}
