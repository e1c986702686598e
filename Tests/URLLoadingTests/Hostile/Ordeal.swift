import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportURLLoading

/// One load from a server that means no good: through the whole pipeline of a session on a direct route.
struct Ordeal {
    /// What a load may take of memory, whatever the server sends.
    static let memory = Sanitizer.isOn ? 512 << 20 : 32 << 20
    /// What a load that is ended at once may take of time, on a busy machine.
    static let moment = Duration.seconds(10)

    let loading = URLLoadingSystem(gate: StubGate())
    var session: SecureSession
    var idleTimeout: Duration?
    var resourceTimeout: Duration?

    init(trusting authority: TestAuthority? = nil) throws {
        var configuration = SessionConfiguration()
        if let authority { configuration.trust = .only([try authority.der]) }
        if StreamHandler.isUsed { configuration.handlers = [StreamHandler(keepsStreams: true)] }
        session = loading.makeSession(configuration)
    }

    func load(
        _ server: TestServer, _ path: String = "/", scheme: String = "http", method: HTTPRequest.Method = .get,
        upTo limit: ByteCount = .mebibytes(1)
    ) async throws -> LoadAnswer<[UInt8]> {
        var request = LoadRequest(method, try server.url(path, scheme: scheme))
        request.options.idleTimeout = idleTimeout
        request.options.resourceTimeout = resourceTimeout
        // A server stops when its last reference is released.
        defer { withExtendedLifetime(server) {} }
        return try await session.data(for: request, upTo: limit)
    }

    /// The error in which a load ends; nil where it does not. Takes note where time or memory go beyond their bounds.
    func failure(
        _ server: TestServer, _ path: String = "/", scheme: String = "http", upTo limit: ByteCount = .mebibytes(1),
        within time: Duration = Ordeal.moment, _ location: SourceLocation = #_sourceLocation
    ) async throws -> LoadError? {
        let (start, memory) = (ContinuousClock.now, ResidentMemory.now)
        var failure: LoadError?
        do {
            _ = try await load(server, path, scheme: scheme, upTo: limit)
        } catch let error as LoadError {
            failure = error
        }
        let (spent, grown) = (ContinuousClock.now - start, ResidentMemory.now - memory)
        #expect(spent < time, "The load took \(spent).", sourceLocation: location)
        #expect(grown < Self.memory, "The load took \(grown >> 20) MiB.", sourceLocation: location)
        return failure
    }
}

/// A name for what a server does, and how the load must end.
struct HostileCase: Sendable, CustomTestStringConvertible {
    let name: String
    let code: LoadError.Code
    let act: @Sendable (TestConnection) -> Void

    init(_ name: String, _ code: LoadError.Code, _ act: @escaping @Sendable (TestConnection) -> Void) {
        (self.name, self.code, self.act) = (name, code, act)
    }

    /// A server that answers with these bytes and closes.
    init(_ name: String, _ code: LoadError.Code, sends answer: String) {
        self.init(name, code) { $0.write(answer) }
    }

    var testDescription: String { name }

    /// A load from the server ends as it should.
    func isMet(_ ordeal: Ordeal? = nil) async throws {
        let failure = try await (ordeal ?? Ordeal()).failure(server())
        #expect(failure?.code == code, "\(String(describing: failure))")
    }

    func server() throws -> TestServer {
        try TestServer { [act] connection in
            guard connection.readHead() != nil else { return }
            act(connection)
            // A close with unread bytes would be a reset, which may overtake the answer.
            connection.finish()
        }
    }
}

extension TestConnection {
    /// Writes the same again and again until the peer has left, and at most for 64 MiB.
    func writeEndlessly(_ text: String) {
        let block = Array(String(repeating: text, count: max(1, 16384 / text.utf8.count)).utf8)
        var written = 0
        while written < 64 << 20, write(block) { written += block.count }
    }
}
