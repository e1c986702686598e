import Foundation
import HTTPTypes
import SallyportBase
import SallyportCache
import SallyportCookies
import SallyportCore
import SallyportEventLoop
import SallyportHTTPAuthentication
import SallyportLoading
import SallyportSecureStore
import SallyportURLLoading

/// Sallyport's URL loading with the whole pipeline on, as an instance composes it, and a policy that is asked for each
/// request. The servers say that nothing may be stored.
public struct SallyportClient: PeerClient {
    private let folder: URL
    private let store: SecureStore
    private let jar: CookieJar
    private let system: URLLoadingSystem
    private let session: SecureSession
    private let executor: (any TaskExecutor)?
    private let sent: RequestBody?

    public init(job: Job, isOnLoop: Bool) async throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-bench-\(UUID())")
        store = try await SecureStore.open(
            at: folder.path, protectedBy: .keyFile(folder.appendingPathExtension("key").path))
        let gate = try FixedGate(relay: job.relay)
        let (credentials, cookies) = (CredentialStorage(), CookieJar(in: store))
        jar = cookies
        let cache = SecureCache(store: store, gate: gate)
        system = URLLoadingSystem(
            gate: gate,
            stages: { _ in
                [
                    AuthenticationStage(credentials: credentials), CookieStage(jar: cookies),
                    CacheStage(cache: cache, gate: gate),
                ]
            })
        var configuration = SessionConfiguration()
        configuration.connectionsPerOrigin = job.concurrency
        if let file = job.authorityFile { configuration.trust = try .only(pemFile: file) }
        session = system.makeSession(configuration)
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

    public func shutdown() async throws {
        await system.shutdown()
        await jar.shutdown()
        store.close()
        try FileManager.default.removeItem(at: folder)
        try FileManager.default.removeItem(at: folder.appendingPathExtension("key"))
    }
}

/// A policy of two rules: everything direct, or everything through one relay.
private struct FixedGate: AccessGate {
    private let relay: RelayAccess?
    private let table: RoutingTable

    init(relay files: RelayFiles?) throws {
        relay = try files.map(Self.access)
        table = RoutingTable(default: files == nil ? .direct : .relay, defaultPorts: Set(1...65535))
    }

    private static func access(_ files: RelayFiles) throws -> RelayAccess {
        let url = try RequestURL(files.url)
        guard let endpoint = url.endpoint else { throw PeerFailure("the relay has no host") }
        let key = try String(contentsOfFile: files.keyFile, encoding: .utf8)
        return RelayAccess(
            cluster: "main", relays: [.init(endpoint, priority: 1)], authorities: try pem(files.authorityFile),
            identity: ClientIdentity(certificates: try pem(files.certificateFile), privateKey: Redacted(key)))
    }

    private static func pem(_ path: String) throws -> [[UInt8]] {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        return text.components(separatedBy: "-----BEGIN CERTIFICATE-----").dropFirst().compactMap { part in
            let base64 = part.components(separatedBy: "-----END CERTIFICATE-----")[0]
            return Data(base64Encoded: base64, options: .ignoreUnknownCharacters).map(Array.init)
        }
    }

    func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
        ServerAccess(decision: table.decide(endpoint), relay: relay)
    }

    func checkAuthorized() throws(AccessDenied) {}

    func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
        AccessObservation()
    }
}
