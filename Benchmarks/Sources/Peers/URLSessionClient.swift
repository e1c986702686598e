import Foundation
import FoundationNetworking
import Workloads

/// FoundationNetworking's URLSession, used as its documentation recommends: `data(for:)` for answers that fit in
/// memory, a delegate for long ones.
struct URLSessionClient: PeerClient {
    private let session: URLSession
    private let counter = ByteCounter()

    init() {
        let configuration = URLSessionConfiguration.default
        configuration.urlCache = nil
        configuration.httpMaximumConnectionsPerHost = 256
        session = URLSession(configuration: configuration, delegate: counter, delegateQueue: nil)
    }

    func run(url: String, total: Int, concurrency: Int) async throws -> Int {
        guard let url = URL(string: url) else { throw PeerFailure("not a URL") }
        let isLong = url.lastPathComponent == "100m"
        return try await inParallel(total, concurrency) { [session, counter] in
            if isLong { return try await counter.load(url, in: session) }
            let (data, response) = try await session.data(from: url)
            guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw PeerFailure("no answer") }
            return data.count
        }
    }

    func shutdown() async throws { session.invalidateAndCancel() }
}

/// Counts what the delegate is given, task by task.
private final class ByteCounter: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // SAFETY: `loads` is touched between lock and unlock only.
    private let lock = NSLock()
    private var loads: [Int: (bytes: Int, continuation: CheckedContinuation<Int, any Error>)] = [:]

    func load(_ url: URL, in session: URLSession) async throws -> Int {
        try await withCheckedThrowingContinuation { continuation in
            let task = session.dataTask(with: url)
            lock.withLock { loads[task.taskIdentifier] = (0, continuation) }
            task.resume()
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        lock.withLock { loads[dataTask.taskIdentifier]?.bytes += data.count }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let load = lock.withLock({ loads.removeValue(forKey: task.taskIdentifier) }) else { return }
        if let error {
            load.continuation.resume(throwing: error)
        } else {
            load.continuation.resume(returning: load.bytes)
        }
    }
}
