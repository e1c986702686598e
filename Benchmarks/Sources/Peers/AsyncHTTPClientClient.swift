import AsyncHTTPClient
import NIOCore
import NIOSSL
import Workloads

struct AsyncHTTPClientClient: PeerClient {
    private let client: HTTPClient

    init(job: Job) throws {
        var configuration = HTTPClient.Configuration.singletonConfiguration
        configuration.httpVersion = job.isHTTP2 ? .automatic : .http1Only
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = job.concurrency
        if let file = job.authorityFile {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(file)
            configuration.tlsConfiguration = tls
        }
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    func run(url: String, total: Int, concurrency: Int) async throws -> Int {
        try await inParallel(total, concurrency) { [client] in
            let response = try await client.execute(HTTPClientRequest(url: url), timeout: .minutes(2))
            guard response.status == .ok else { throw PeerFailure("status \(response.status.code)") }
            var bytes = 0
            for try await chunk in response.body { bytes += chunk.readableBytes }
            return bytes
        }
    }

    func shutdown() async throws { try await client.shutdown() }
}
