import Foundation
import Sallyport
import SallyportEventLoop
import SallyportLoading

/// Sallyport's URL loading as an app has it: an instance that the gateway of the benchmarks activated, with the policy of
/// its administrator, authentication, cookies and cache. The servers say that nothing may be stored.
public struct SallyportClient: PeerClient {
    private let folder: URL
    private let sallyport: Sallyport
    private let session: SecureSession
    private let executor: (any TaskExecutor)?
    private let sent: RequestBody?

    public init(job: Job, isOnLoop: Bool) async throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-bench-\(UUID())")
        sallyport = try await Sallyport.open(
            store: folder.path, protectedBy: .keyFile(folder.appendingPathExtension("key").path),
            application: .init("com.example.bench", version: "1.0.0.0"))
        try await sallyport.authorization.activate(link: Self.output(of: job.issuer))
        try await sallyport.authorize()
        var configuration = SessionConfiguration()
        configuration.connectionsPerOrigin = job.concurrency
        if let file = job.authorityFile { configuration.trust = try .only(pemFile: file) }
        session = sallyport.makeSession(configuration)
        executor = isOnLoop ? EventLoopGroup.shared.next() : nil
        sent = job.sends.map(Self.body)
    }

    /// The first line that a shell's command prints. Foundation's `Process` does not run under valgrind.
    private static func output(of command: String) throws -> String {
        guard let pipe = unsafe popen(command, "r") else { throw PeerFailure("no process can be started") }
        var line = [CChar](repeating: 0, count: 4096)
        let isRead = unsafe fgets(&line, Int32(line.count), pipe) != nil
        guard unsafe pclose(pipe) == 0, isRead else { throw PeerFailure("no link was issued by: \(command)") }
        let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return text.trimmingCharacters(in: .newlines)
    }

    /// In one array where it is small, else as it is made.
    private static func body(_ length: Int) -> RequestBody {
        let part = [UInt8](repeating: 7, count: min(length, 1 << 20))
        if part.count == length { return .bytes(part) }
        return .restartable(length: Int64(length)) { writer in
            for start in stride(from: 0, to: length, by: part.count) {
                try await writer.write(length - start < part.count ? Array(part.prefix(length - start)) : part)
            }
        }
    }

    /// As an app does: `data(for:)` for answers that fit in memory, `bytes(for:)` for long ones.
    public func run(url: String, total: Int, concurrency: Int) async throws -> Int {
        let url = try RequestURL(url)
        let isLong = url.path.hasSuffix("100m")
        return try await inParallel(total, concurrency, on: executor) { [session, sent] in
            let request = sent.map { LoadRequest(.put, url, body: $0) } ?? LoadRequest(.get, url)
            let sentBytes = Int(sent?.length ?? 0)
            guard isLong else {
                let answer = try await session.data(for: request)
                try Self.check(answer.head.status.code)
                return sentBytes + answer.body.count
            }
            let response = try await session.bytes(for: request)
            try Self.check(response.head.status.code)
            var count = sentBytes
            for try await chunk in response.body { count += chunk.count }
            return count
        }
    }

    private static func check(_ status: Int) throws {
        guard 200..<300 ~= status else { throw PeerFailure("status \(status)") }
    }

    public func shutdown() async throws {
        await sallyport.shutdown()
        try FileManager.default.removeItem(at: folder)
        try FileManager.default.removeItem(at: folder.appendingPathExtension("key"))
    }
}
