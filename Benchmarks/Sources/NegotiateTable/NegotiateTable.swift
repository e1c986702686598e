import Foundation
import Sallyport

/// Prints what a load costs by Negotiate beside the same by Basic and by nothing, with a real KDC and Apache httpd, which
/// are processes of their own: `authentication.sh` starts them.
///
///     NegotiateTable STORE LINK ORIGIN USER PASSWORD SECURE-ORIGIN CERTIFICATE
@main
struct NegotiateTable {
    private static let rounds = 7
    private static let loads = 1_000
    private static let paths = ["free", "basic", "vault"]

    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 8 else {
            fatalError("NegotiateTable STORE LINK ORIGIN USER PASSWORD SECURE-ORIGIN CERTIFICATE")
        }
        let sallyport = try await Sallyport.open(
            store: arguments[1], protectedBy: .keyFile(arguments[1] + ".key"),
            application: .init("com.example.bench", version: "1.0.0.0"))
        try await sallyport.authorization.activate(link: arguments[2])
        try await sallyport.authorize()
        let credential = Credential(user: arguments[4], password: Redacted(arguments[5]))
        var configuration = SessionConfiguration()
        // What the cache answers is not measured here.
        configuration.usesCache = false
        // Basic is measured too, without TLS.
        configuration.allowsBasicOverPlainHTTP = true
        configuration.trust = try .systemAnd(pemFile: arguments[7])
        let session = sallyport.makeSession(configuration)
        try await printCosts(session, arguments[3], credential)
        try await printPrincipals("http", session, arguments[3], credential)
        try await printPrincipals("https, with the system's authorities", session, arguments[6], credential)
        await sallyport.shutdown()
    }

    private static func printCosts(_ session: SecureSession, _ origin: String, _ credential: Credential) async throws {
        var figures: [[Double]] = paths.map { _ in [] }
        for _ in 0..<rounds {
            for (index, path) in paths.enumerated() {
                var request = try LoadRequest.get("\(origin)/\(path)/page")
                request.options.credential = credential
                // The first exchange: challenges and tickets.
                try await load(request, in: session)
                let start = cpu()
                for _ in 0..<loads { try await load(request, in: session) }
                figures[index].append((cpu() - start) / Double(loads))
            }
        }
        let medians = figures.map { $0.sorted()[rounds / 2] }
        for (path, median) in zip(["none", "Basic", "Negotiate"], medians) {
            print("\(path): \(text(median)) of CPU a load")
        }
        print(
            "Negotiate over Basic: \(text(medians[2] - medians[1])), a token made and an answer verified for each load")
    }

    /// 200 principals at once, each with tickets and connections of its own.
    private static func printPrincipals(
        _ name: String, _ session: SecureSession, _ origin: String, _ credential: Credential
    ) async throws {
        let (begun, start, memory) = (ContinuousClock.now, cpu(), residentBytes())
        try await withThrowingTaskGroup { group in
            for number in 1...200 {
                group.addTask {
                    var request = try LoadRequest.get("\(origin)/vault/page")
                    request.options.credential = credential
                    request.options.principal = Principal("\(name) \(number)")
                    try await load(request, in: session)
                }
            }
            try await group.waitForAll()
        }
        let (time, grown) = (ContinuousClock.now - begun, residentBytes() - memory)
        print(
            "200 principals at once by \(name): \(text((cpu() - start) / 200)) of CPU and \(grown / 200 / 1024) KiB each,",
            "\(time) for all")
    }

    /// `VmRSS` of proc(5).
    private static func residentBytes() -> Int {
        let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
        return (Int(line.split(separator: " ").dropFirst().first ?? "") ?? 0) * 1024
    }

    private static func load(_ request: LoadRequest, in session: SecureSession) async throws {
        let response = try await session.data(for: request).head
        guard response.status == .ok else { fatalError("\(request.url): \(response.status)") }
    }

    private static func cpu() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func text(_ seconds: Double) -> String { "\((seconds * 1e8).rounded() / 100) µs" }
}
