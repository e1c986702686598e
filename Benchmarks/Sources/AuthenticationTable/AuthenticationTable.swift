import Glibc
import SallyportBase
import SallyportCore
import SallyportEventLoop
import SallyportHTTPAuthentication
import SallyportLoading
import SallyportURLLoading

/// Prints the figures of Docs/Performance.md: what a load costs by Digest and by NTLM, beside the same by Basic and by
/// none, once the server has asked. CPU of the process without that of its server's threads, lower quarter of the rounds.
@main
struct AuthenticationTable {
    private static let rounds = 12
    private static let loads = 3_000
    private static let concurrency = 6

    private struct Gate: AccessGate {
        func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
            ServerAccess(decision: RoutingTable(default: .direct).decide(endpoint), relay: nil)
        }
        func checkAuthorized() throws(AccessDenied) {}
        func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
            AccessObservation()
        }
    }

    static func main() async throws {
        // On the session's own loop: the switches between threads that it saves are as dear as what is measured, and
        // never the same twice.
        try await withTaskExecutorPreference(EventLoopGroup.shared.next()) { try await measure() }
    }

    @concurrent private static func measure() async throws {
        let server = try Server()
        let credentials = CredentialStorage()
        let loading = URLLoadingSystem(
            gate: Gate(), stages: { _ in [AuthenticationStage(credentials: credentials)] })
        var configuration = SessionConfiguration()
        // The server of the benchmark has no TLS.
        configuration.allowsBasicOverPlainHTTP = true
        let session = loading.makeSession(configuration)
        let paths = ["/free/a", "/basic/a", "/md5/a", "/sha256/a", "/sha512/a", "/session/a", "/ntlm/a"]
        var figures: [[Double]] = paths.map { _ in [] }
        for round in 0..<rounds {
            // Forth and back, so that what one leaves behind is not always the same other's to bear.
            for index in round.isMultiple(of: 2) ? Array(paths.indices) : paths.indices.reversed() {
                let path = paths[index]
                var request = try LoadRequest.get("http://127.0.0.1:\(server.port)\(path)")
                request.options.credential = Credential(user: "ann", password: Redacted("secret"))
                await credentials.clear()
                _ = try await session.data(for: request)
                let start = cpu() - server.cpu
                try await withThrowingTaskGroup { group in
                    for _ in 0..<concurrency {
                        group.addTask { [request] in
                            for _ in 0..<loads / concurrency { _ = try await session.data(for: request) }
                        }
                    }
                    try await group.waitForAll()
                }
                figures[index].append((cpu() - server.cpu - start) / Double(loads))
            }
        }
        // What others do on the machine only adds to it.
        let quarters = figures.map { $0.sorted()[rounds / 4] }
        for (path, quarter) in zip(paths, quarters) { print("\(path.dropLast(2)): \(text(quarter)) of CPU a load") }
        let worst = (2..<6).map { overBasic(figures[$0], figures[1]) }.max() ?? 0
        print("Digest over Basic: \(text(worst)) at most; at most 10 µs: \(worst <= 10e-6 ? "reached" : "missed")")
        let ntlm = overBasic(figures[6], figures[1])
        print("NTLM over Basic, on a connection that the server knows the user of: \(text(ntlm))")
        print("challenges: \(server.challenges) for \(rounds * loads * (paths.count - 1)) loads that prove something")
        await loading.shutdown()
    }

    /// The median of what was added in each round, since the machine is not as fast in each.
    private static func overBasic(_ figures: [Double], _ basic: [Double]) -> Double {
        zip(figures, basic).map { $0 - $1 }.sorted()[rounds / 2]
    }

    private static func cpu() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func text(_ seconds: Double) -> String { "\((seconds * 1e8).rounded() / 100) µs" }
}
