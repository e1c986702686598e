import Foundation
import HTTPTypes
import Logging
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportURLLoading
import SessionTestSupport
import TestSupport
import Testing

@testable import SallyportCache
@testable import SallyportSecureStore

/// A real nginx and whole sessions: what its log says of the wire.
@Suite(.timeLimit(.minutes(1))) struct WireTests {
    /// A server, and sessions of an instance with the cache in their chain.
    private struct Wire {
        let nginx: Nginx
        let gate = SiteGate()
        let cache: SecureCache
        let loading: URLLoadingSystem
        let folder: TemporaryDirectory
        private let store: TestStore

        static func start() async throws -> Wire {
            let folder = try TemporaryDirectory()
            try FileManager.default.createDirectory(atPath: folder.file("site"), withIntermediateDirectories: false)
            try folder.write("The figures of today.\n", to: "site/report.txt")
            try folder.write(String(repeating: "0123456789abcdef", count: 40_000), to: "site/long.txt")
            let nginx = try await Nginx.start(in: folder) { port in
                """
                log_format line '"$request" $status $http_if_none_match';
                map $http_x_slow $pace { default 0; 1 64k; }
                server {
                    listen 127.0.0.1:\(port);
                    access_log \(folder.path)/access.log line;
                    root \(folder.path)/site;
                    gzip on;
                    gzip_types text/plain;
                    gzip_min_length 1000;
                    gzip_vary on;
                    location / { expires 60s; }
                    location = /slow.txt {
                        limit_rate $pace;
                        expires 60s;
                        try_files /long.txt =404;
                    }
                    location = /asked { add_header Cache-Control "no-cache"; try_files /report.txt =404; }
                    location = /never { add_header Cache-Control "no-store"; try_files /report.txt =404; }
                    location = /away { add_header Cache-Control "max-age=60"; return 301 /report.txt; }
                }
                """
            }
            return try await Wire(nginx, folder)
        }

        private init(_ nginx: Nginx, _ folder: TemporaryDirectory) async throws {
            self.nginx = nginx
            self.folder = folder
            store = try await TestStore(in: folder)
            let cache = SecureCache(store: store.store, gate: gate)
            self.cache = cache
            loading = URLLoadingSystem(
                gate: gate,
                stages: { [gate] configuration in
                    [
                        CacheStage(
                            SharedCache(cache), gate: gate, policy: configuration.cachePolicy,
                            isOn: configuration.usesCache)
                    ]
                })
        }

        func get(
            _ path: String, _ fields: HTTPFields = [:], in session: SecureSession? = nil
        ) async throws -> LoadAnswer<[UInt8]> {
            let request = try LoadRequest.get("http://127.0.0.1:\(nginx.port)\(path)", headerFields: fields)
            let result = try await (session ?? loading.session).data(for: request)
            await cache.settle()
            return result
        }

        /// Lines of the log; nginx writes them when it has sent the answer.
        func log(_ count: Int) async throws -> [String] {
            _ = try await eventually { nginx.log.count >= count }
            return nginx.log
        }
    }

    @Test func aSecondFetchDoesNotReachTheServer() async throws {
        let wire = try await Wire.start()
        let first = try await wire.get("/report.txt")
        let second = try await wire.get("/report.txt")
        // The server's date has whole seconds: an answer from just before the end of one is a second old at once.
        let age = try #require(second.head.headerFields[.age].flatMap { Int($0) })
        #expect(first.body == second.body && age < 60)
        let again = try await wire.get("/report.txt", in: wire.loading.makeSession(SessionConfiguration()))
        #expect(again.body == first.body, "One cache for all sessions.")
        #expect(try await wire.log(1) == ["\"GET /report.txt HTTP/1.1\" 200 -"])
    }

    /// What is stored is encoded, as it came, and decoded at each use.
    @Test func encodedBodiesAreKeptEncoded() async throws {
        let wire = try await Wire.start()
        let first = try await wire.get("/long.txt")
        #expect(first.body.count == 640_000)
        #expect(wire.cache.statistics.bytes < 50_000)
        #expect(try await wire.get("/long.txt").body == first.body)
        #expect(try await wire.log(1).count == 1)
        // Another coding is another answer.
        #expect(try await wire.get("/long.txt", [.acceptEncoding: "identity"]).body == first.body)
        #expect(try await wire.log(2).count == 2)
    }

    @Test func aRevalidationShowsAsNotModified() async throws {
        let wire = try await Wire.start()
        let first = try await wire.get("/asked")
        let second = try await wire.get("/asked")
        #expect(first.body == second.body && second.head.status == .ok)
        let log = try await wire.log(2)
        #expect(log.count == 2 && log[0].contains("\" 200 -"))
        #expect(log[1].contains("\" 304 ") && !log[1].hasSuffix(" -"), "\(log)")
        try wire.folder.write("Others.\n", to: "site/report.txt")
        #expect(try await wire.get("/asked").body == Array("Others.\n".utf8))
        #expect(try await wire.log(3)[2].contains("\" 200 "))
    }

    @Test func unstorableAnswersAreFetchedEachTime() async throws {
        let wire = try await Wire.start()
        for _ in 0..<3 { _ = try await wire.get("/never") }
        #expect(try await wire.log(3).count == 3)
        #expect(wire.cache.statistics.entries == 0)
    }

    @Test func redirectsAndRangesAreAnsweredToo() async throws {
        let wire = try await Wire.start()
        _ = try await wire.get("/away")
        _ = try await wire.get("/away")
        #expect(try await wire.log(2).count == 2, "A redirect and its target, once each.")
        _ = try await wire.get("/long.txt", [.acceptEncoding: "identity"])
        let part = try await wire.get("/long.txt", [.range: "bytes=100000-100009", .acceptEncoding: "identity"])
        #expect(part.body == Array("0123456789".utf8) && part.head.status == .partialContent)
        #expect(try await wire.log(3).count == 3)
    }

    /// The bytes that a cancelled load has received are not sent again.
    @Test func aLoadThatWasCancelledIsCompleted() async throws {
        let wire = try await Wire.start()
        let url = "http://127.0.0.1:\(wire.nginx.port)/slow.txt"
        let slow = try LoadRequest.get(url, headerFields: [.acceptEncoding: "identity", .custom("X-Slow"): "1"])
        let response = try await wire.loading.session.bytes(for: slow)
        let count = Lock(0)
        let reading = Task { while let chunk = try await response.body.next() { count.withLock { $0 += chunk.count } } }
        #expect(try await eventually { count.withLock { $0 } > 0 })
        reading.cancel()
        await #expect(throws: LoadError(.cancelled, "")) { try await reading.value }
        #expect(try await eventually { wire.cache.statistics.entries == 1 })
        let whole = try await wire.get("/slow.txt", [.acceptEncoding: "identity"])
        #expect(whole.body.count == 640_000 && whole.head.status == .ok)
        #expect(whole.body == Array(String(repeating: "0123456789abcdef", count: 40_000).utf8))
        #expect(try await wire.log(2)[1].contains("\" 206 "), "\(wire.nginx.log)")
        #expect(try await wire.get("/slow.txt", [.acceptEncoding: "identity"]).body == whole.body)
        #expect(wire.nginx.log.count == 2)
    }

    /// 100 loads of one resource at once are one on the wire.
    @Test func equalLoadsAtOnceAreOneOnTheWire() async throws {
        let wire = try await Wire.start()
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<100 { group.addTask { try await wire.get("/long.txt").body.count } }
            for try await count in group { #expect(count == 640_000) }
        }
        #expect(try await wire.log(1).count == 1)
    }

    @Test func theRecordSaysWhatTheCacheDid() async throws {
        let wire = try await Wire.start()
        func decisions(_ path: String, _ fields: HTTPFields = [:]) async throws -> [String] {
            var request = try LoadRequest.get("http://127.0.0.1:\(wire.nginx.port)\(path)", headerFields: fields)
            request.options.isRecorded = true
            let response = try await wire.loading.session.bytes(for: request)
            _ = try await response.body.collect(upTo: .mebibytes(1))
            await wire.cache.settle()
            return response.record?.decisions.filter { $0.kind == .cache }.map(\.value) ?? []
        }
        #expect(try await decisions("/report.txt") == ["miss"])
        #expect(try await decisions("/report.txt") == ["hit"])
        #expect(try await decisions("/report.txt", [.ifNoneMatch: "\"x\""]) == ["bypassed"])
        _ = try await decisions("/asked")
        #expect(try await decisions("/asked") == ["revalidated"])
        try wire.folder.write("Another length.\n", to: "site/report.txt")
        #expect(try await decisions("/asked") == ["changed"])
    }

    @Test func aSessionWithoutTheCacheAsksItsServer() async throws {
        let wire = try await Wire.start()
        var configuration = SessionConfiguration()
        configuration.usesCache = false
        let session = wire.loading.makeSession(configuration)
        for _ in 0..<2 { _ = try await wire.get("/report.txt", in: session) }
        #expect(try await wire.log(2).count == 2)
        #expect(wire.cache.statistics.entries == 0)
    }

    /// The gate's word counts before what is stored.
    @Test func aRouteThatIsDeniedGivesNothingStored() async throws {
        let wire = try await Wire.start()
        _ = try await wire.get("/report.txt")
        wire.gate.route(.deny)
        await #expect(throws: LoadError(.refusedByPolicy, "")) { try await wire.get("/report.txt") }
    }

    /// While secure communication is switched off nothing comes from the cache, not even where it is whole.
    @Test func switchedOffSecureCommunicationUsesNoCache() async throws {
        let wire = try await Wire.start()
        let session = wire.loading.makeSession(SessionConfiguration())
        _ = try await wire.get("/report.txt", in: session)
        wire.loading.disable()
        await #expect(throws: LoadError.self) { try await wire.get("/report.txt", in: session) }
        let system = wire.loading.shared
        _ = try await wire.get("/report.txt", in: system)
        _ = try await wire.get("/report.txt", in: system)
        #expect(try await wire.log(3).count == 3, "The system session has no cache.")
        wire.loading.enable()
        _ = try await wire.get("/report.txt")
        #expect(try await wire.log(3).count == 3)
    }
}
