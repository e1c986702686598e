import Sallyport
import SallyportEventLoop
import SallyportLoading

/// The URL loading of an activated instance. The servers say that nothing may be stored.
public struct SallyportClient: PeerClient {
    private let instance: ActivatedInstance
    private let session: SecureSession
    private let executor: (any TaskExecutor)?
    private let sent: RequestBody?

    public init(job: Job, isOnLoop: Bool) async throws {
        instance = try await ActivatedInstance(issuer: job.issuer)
        var configuration = SessionConfiguration()
        configuration.connectionsPerOrigin = job.concurrency
        if let file = job.authorityFile { configuration.trust = try .only(pemFile: file) }
        session = instance.sallyport.makeSession(configuration)
        executor = isOnLoop ? EventLoopGroup.shared.next() : nil
        sent = job.sends.map(Self.body)
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

    public func shutdown() async throws { try await instance.shutdown() }
}
