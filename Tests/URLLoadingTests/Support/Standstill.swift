import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport

@testable import SallyportURLLoading

/// Exchanges that stand still at each of their bytes, side by side, until they are ended from our side.
final class Standstill: Sendable {
    enum Ending: CaseIterable, Sendable {
        case cancellation, deadline, withdrawal

        var code: LoadError.Code {
            switch self {
            case .cancellation: .cancelled
            case .deadline: .resourceTimeout
            case .withdrawal: .withdrawn
            }
        }
    }

    /// An interim head, a head, chunks, and trailers.
    static let answer = Array(
        ("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
            + "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n"
            + "5;a=b\r\nhello\r\n7\r\n, world\r\n0\r\nT: 1\r\n\r\n").utf8)
    /// Of a request's body, in bytes.
    static let upload = 48
    /// The longest time that an exchange has where its end is the deadline.
    private static let time = Duration.milliseconds(700)

    private let gate = StubGate()
    private let loading: URLLoadingSystem
    private let session: SecureSession
    private let server: TestServer
    /// How many exchanges stand still.
    private let standing: Lock<Int>

    init() throws {
        let standing = Lock(0)
        self.standing = standing
        loading = URLLoadingSystem(gate: gate)
        var configuration = SessionConfiguration()
        configuration.connectionsPerOrigin = 1000
        if StreamHandler.isUsed { configuration.handlers = [StreamHandler(keepsStreams: false)] }
        session = loading.makeSession(configuration)
        server = try TestServer { connection in
            guard let head = connection.readHead() else { return }
            guard connection.reaches(in: head) else { return }
            standing.withLock { $0 += 1 }
            connection.awaitEnd()
        }
    }

    /// Of all bytes at which an exchange can stand still.
    static var places: Int { answer.count + upload }

    /// Lets one exchange for each place begin, waits until all stand still, and ends them.
    ///
    /// - Returns: how each ended; nil where it did not.
    func walk(to ending: Ending) async throws -> [LoadError.Code?] {
        standing.withLock { $0 = 0 }
        let requests = try (0..<Self.places).map { try request(at: $0, ending) }
        let session = session
        let loads = Task { await Self.failures(of: requests, in: session) }
        if ending != .deadline { _ = try await eventually { self.standing.withLock { $0 } == Self.places } }
        end(loads, ending)
        let codes = await loads.value
        if ending == .withdrawal { gate.authorize() }
        return codes
    }

    /// Whether the connections of all exchanges are gone.
    func isQuiet() async throws -> Bool { try await eventually { self.server.openConnections == 0 } }

    private func end(_ loads: Task<[LoadError.Code?], Never>, _ ending: Ending) {
        switch ending {
        case .cancellation: loads.cancel()
        case .deadline: break
        case .withdrawal: gate.withdraw(.blocked)
        }
    }

    private static func failures(of requests: [LoadRequest], in session: SecureSession) async -> [LoadError.Code?] {
        await withTaskGroup(of: (place: Int, code: LoadError.Code?).self) { group in
            for (place, request) in requests.enumerated() {
                group.addTask { (place, await failure(of: request, in: session)) }
            }
            var codes = [LoadError.Code?](repeating: nil, count: requests.count)
            for await ended in group { codes[ended.place] = ended.code }
            return codes
        }
    }

    private static func failure(of request: LoadRequest, in session: SecureSession) async -> LoadError.Code? {
        do {
            _ = try await session.data(for: request)
            return nil
        } catch {
            return error.code
        }
    }

    private func request(at place: Int, _ ending: Ending) throws -> LoadRequest {
        let isAnswer = place < Self.answer.count
        let count = isAnswer ? place : place - Self.answer.count
        var request = LoadRequest(
            isAnswer ? .get : .put, try server.url(isAnswer ? "/answer/\(count)" : "/upload/\(count)"))
        if ending == .deadline { request.options.resourceTimeout = Self.time }
        guard !isAnswer else { return request }
        // Every other body has no length that is known, and comes in a chunk.
        request.body = .restartable(length: count % 2 == 0 ? Int64(Self.upload) : nil) { writer in
            if count > 0 { try await writer.write([UInt8](repeating: 1, count: count)) }
            try await Task.sleep(for: .seconds(60))
        }
        return request
    }
}

extension TestConnection {
    /// - Returns: whether as much was sent or received as the path of a request says.
    fileprivate func reaches(in head: String) -> Bool {
        let path = head.split(separator: " ").dropFirst().first?.split(separator: "/") ?? []
        guard path.count == 2, let count = Int(path[1]) else { return false }
        if path[0] == "answer" { return write(Array(Standstill.answer[..<count])) }
        let isChunked = count % 2 == 1
        var rest = isChunked ? String(count, radix: 16).utf8.count + count + 4 : count
        while rest > 0 {
            let bytes = read(upTo: rest)
            if bytes.isEmpty { return false }
            rest -= bytes.count
        }
        return true
    }
}
