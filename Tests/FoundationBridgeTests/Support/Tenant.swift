import Foundation
import FoundationNetworking
import SallyportBase
import SallyportCore
import SallyportFoundationBridge
import SallyportURLLoading
import TestSupport

/// One instance with a gate of its own, in a process that has several.
struct Tenant {
    let gate = TenantGate()
    let loading: URLLoadingSystem

    init() { loading = URLLoadingSystem(gate: gate) }

    func native(
        _ secure: SessionConfiguration = SessionConfiguration(), upTo limit: ByteCount = .mebibytes(16),
        delegate: (any URLSessionDelegate)? = nil, _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        let configuration = loading.makeSession(secure).foundationConfiguration(wholeBodiesUpTo: limit)
        change(configuration)
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }
}

/// Lets everything pass directly until it is closed or withdrawn, and counts how often it is asked.
final class TenantGate: AccessGate {
    private let gate = StubGate()
    private let count = Lock(0)

    func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
        count.withLock { $0 += 1 }
        return try gate.access(to: endpoint)
    }

    func checkAuthorized() throws(AccessDenied) { try gate.checkAuthorized() }

    func rulesRevision() throws(AccessDenied) -> UInt64 { try gate.rulesRevision() }

    func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
        gate.onAccessChange(observer)
    }

    var asked: Int { count.withLock { $0 } }

    func close() { gate.route(by: RoutingTable(default: .deny)) }

    func withdraw() { gate.withdraw(.wiped) }
}

/// Answers each request of a connection, and keeps what came.
final class RecordingServer: Sendable {
    private let server: TestServer
    private let requests: Lock<[String]>

    /// - Parameter answer: the whole answer to a request line and what follows it.
    init(_ answer: @escaping @Sendable (String) -> String) throws {
        let requests = Lock<[String]>([])
        server = try TestServer { connection in
            while let head = connection.readHead() {
                let body = Self.body(connection, head)
                requests.withLock { $0.append(head + body) }
                connection.write(answer(head))
            }
        }
        self.requests = requests
    }

    /// Answers all with 200 and the same body.
    convenience init(body: String) throws {
        try self.init { _ in "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)" }
    }

    private static func body(_ connection: TestConnection, _ head: String) -> String {
        let head = head.lowercased()
        var body: [UInt8] = []
        if head.contains("transfer-encoding: chunked") {
            while !body.suffix(5).elementsEqual("0\r\n\r\n".utf8) {
                let bytes = connection.read()
                if bytes.isEmpty { break }
                body += bytes
            }
        }
        let length =
            head.split(separator: "\r\n").first { $0.hasPrefix("content-length: ") }
            .flatMap { Int($0.dropFirst(16)) } ?? 0
        while body.count < length {
            let bytes = connection.read()
            if bytes.isEmpty { break }
            body += bytes
        }
        return String(decoding: body, as: UTF8.self)
    }

    var seen: [String] { requests.withLock { $0 } }

    func url(_ path: String = "/") throws -> URL {
        guard let url = URL(string: "http://127.0.0.1:\(server.port)\(path)") else { throw Unexpected("no URL") }
        return url
    }
}

extension TestServer {
    func native(_ path: String = "/") throws -> URL {
        guard let url = URL(string: "http://127.0.0.1:\(port)\(path)") else { throw Unexpected("no URL") }
        return url
    }
}

/// The error of a task; `unexpected` where it succeeds.
func failure(_ load: () async throws -> Void) async throws -> URLError {
    do {
        try await load()
    } catch let error as URLError {
        return error
    }
    throw Unexpected("The task did not fail.")
}

func status(_ response: URLResponse) -> Int { (response as? HTTPURLResponse)?.statusCode ?? 0 }
