import Foundation
import Glibc
import SallyportCookies
import SallyportCore
import SallyportSecureStore
import Workloads

/// Prints the figures of Docs/Cookies.md: the `Cookie` field for a URL out of 10,000 cookies, beside Foundation's
/// storage, and how long 10,000 take to be read at the start.
///
///     CookieTable DIRECTORY
@main
struct CookieTable {
    private static let rounds = 5

    static func main() async throws {
        guard CommandLine.arguments.count == 2 else {
            print("usage: CookieTable DIRECTORY")
            exit(64)
        }
        try await run(CommandLine.arguments[1])
    }

    /// Off the main actor, which would be a hop for each call.
    @concurrent private static func run(_ directory: String) async throws {
        let store = try await Cookies.fill(directory)
        let jar = CookieJar(in: store)
        let stage = try CookieStagePeer(jar)
        let idle = try CookieStagePeer(CookieJar("empty", in: store))
        try await load(store)
        let foundation = try FoundationPeer()
        var (ours, bare, missed, empty, bareElsewhere): ([Double], [Double], [Double], [Double], [Double]) =
            ([], [], [], [], [])
        var theirs: [Double] = []
        for _ in 0..<rounds {
            ours.append(try await perCall(50_000) { try await stage.run(stage.with, $0) })
            bare.append(try await perCall(50_000) { try await stage.run(stage.without, $0) })
            missed.append(try await perCall(50_000) { try await stage.runElsewhere(stage.with, $0) })
            empty.append(try await perCall(50_000) { try await idle.runElsewhere(idle.with, $0) })
            bareElsewhere.append(try await perCall(50_000) { try await stage.runElsewhere(stage.without, $0) })
            theirs.append(try await perCall(50) { foundation.run($0) })
        }
        let (field, nothing) = (median(ours) - median(bare), median(missed) - median(bareElsewhere))
        print("cookie header for a URL, 10,000 cookies: \(text(field)) of CPU, the whole stage")
        print("  nothing for the host: \(text(nothing)); an empty jar: \(text(median(empty) - median(bareElsewhere)))")
        print("  HTTPCookieStorage, in memory: \(text(median(theirs))), \(Int(median(theirs) / field)) times")
        print("  at most 5 µs: \(field <= 5e-6 ? "reached" : "missed")")
        print("  HTTPCookieStorage at least 20 times: \(median(theirs) / field >= 20 ? "reached" : "missed")")
        store.close()
    }

    /// The first request reads all cookies: of a process that has just begun, and of jars after the first.
    private static func load(_ store: SecureStore) async throws {
        let url = try RequestURL(Cookies.url(0))
        var times: [Double] = []
        for _ in 0..<rounds {
            let jar = CookieJar(in: store)
            let start = cpu()
            guard try await jar.list(for: url).count == 2 else { fatalError("Cookies are missing.") }
            times.append(cpu() - start)
        }
        let judgement = times[0] < 0.05 ? "reached" : "missed"
        print("10,000 cookies read at the start: \(text(times[0])) of CPU, later \(text(median(times)))")
        print("  under 50 ms: \(judgement)")
    }

    private static func perCall(_ count: Int, _ body: (Int) async throws -> Void) async throws -> Double {
        let start = cpu()
        try await body(count)
        return (cpu() - start) / Double(count)
    }

    private static func cpu() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    private static func text(_ seconds: Double) -> String {
        if seconds >= 1e-3 { return "\((seconds * 1e5).rounded() / 100) ms" }
        return "\((seconds * 1e8).rounded() / 100) µs"
    }
}
