import SallyportAuthorization
import SallyportBase
import SallyportCore
import SallyportSecureStore
import SallyportTransport
import SallyportWire
import TestSupport
import Testing

/// A gateway that dies at any step of an activation, over real connections.
@Suite("A gateway that fails half-way", .timeLimit(.minutes(1))) struct GatewayFaultTests {
    enum Fault: CaseIterable, Sendable { case close, reset, garbage, halfHead, halfBody, error }

    /// Answers over TLS with what a ``FakeGateway`` would say, but for one path.
    private struct FailingGateway {
        let server: TestServer
        private let fault: Lock<(path: String, fault: Fault)?>
        private let answers: FakeGateway

        init(_ answers: FakeGateway, fault: Fault, at path: String) throws {
            let fault = Lock<(path: String, fault: Fault)?>((path, fault))
            let tls = TestTLS(try answers.authority.server(addresses: [.v4(0x7f00_0001)]))
            server = try TestServer { connection in
                guard let client = tls.accept(connection) else { return }
                while let head = client.readHead() {
                    guard Self.serve(head, client, connection, answers, fault.withLock { $0 }) else { return }
                }
            }
            (self.fault, self.answers) = (fault, answers)
        }

        func recovers() { fault.withLock { $0 = nil } }

        func link() throws -> String {
            let link = try ActivationLink(answers.link())
            return try ActivationLink(
                gateway: server.endpoint, authorityFingerprint: link.authorityFingerprint, user: link.user,
                accessKey: link.accessKey
            ).text
        }

        /// - Returns: whether the connection goes on.
        private static func serve(
            _ head: String, _ client: TestTLSConnection, _ connection: TestConnection, _ answers: FakeGateway,
            _ fault: (path: String, fault: Fault)?
        ) -> Bool {
            let target = head.split(separator: " ").dropFirst().first ?? ""
            let path = String(target.prefix { $0 != "?" })
            let length = head.lowercased().firstMatch(of: /content-length: (\d+)/).flatMap { Int($0.output.1) } ?? 0
            var body: [UInt8] = []
            while body.count < length, case let piece = client.read(), !piece.isEmpty { body += piece }
            guard let answer = try? answers.answer(path, body) else { return false }
            guard let fault, fault.path == path else {
                client.write("HTTP/1.1 200 OK\r\nContent-Length: \(answer.count)\r\n\r\n")
                return client.write(answer)
            }
            switch fault.fault {
            case .close: client.end()
            case .reset: connection.reset()
            case .garbage: client.write("\u{1}\u{2}\r\n\r\n")
            case .halfHead: client.write("HTTP/1.1 200 OK\r\nContent-Le")
            case .halfBody:
                client.write("HTTP/1.1 200 OK\r\nContent-Length: \(answer.count)\r\n\r\n")
                client.write(Array(answer.prefix(answer.count / 2)))
            case .error: client.write("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
            }
            return false
        }
    }

    private func open(_ fixture: Fixture, _ transport: Transport) async throws -> Authorization {
        try await Authorization.open(
            store: fixture.store(), application: nil, client: TransportControlClient(transport), clock: fixture.clock)
    }

    @Test(
        "Activation ends with -603, keeps nothing that counts, and can be done again", arguments: Fault.allCases,
        [ControlAPI.Path.authorities, ControlAPI.Path.enroll])
    func dies(fault: Fault, path: String) async throws {
        let fixture = try Fixture()
        let gateway = try FailingGateway(fixture.gateway, fault: fault, at: path)
        let transport = Transport()
        let authorization = try await open(fixture, transport)
        let error = await #expect(throws: AuthorizationError.self) {
            try await authorization.activate(link: gateway.link())
        }
        #expect(error?.result == .serverCommunicationFailed, "\(String(describing: error))")
        #expect(authorization.state == .notAuthorized)
        gateway.recovers()
        #expect(try await authorization.activate(link: gateway.link()).state == .authorized)
        await transport.shutdown()
    }

    @Test(
        "With the certificate there, the activation stands and the configuration comes later",
        arguments: Fault.allCases)
    func diesBehindTheEnrolment(fault: Fault) async throws {
        let fixture = try Fixture()
        let gateway = try FailingGateway(fixture.gateway, fault: fault, at: ControlAPI.Path.configuration)
        let transport = Transport()
        let authorization = try await open(fixture, transport)
        let activation = try await authorization.activate(link: gateway.link())
        #expect(activation.state == .notAuthorized && activation.instance == FakeGateway.instance)
        let error = await #expect(throws: AuthorizationError.self) { try await authorization.authorize() }
        #expect(error?.result == .serverCommunicationFailed, "\(String(describing: error))")
        gateway.recovers()
        try await authorization.authorize()
        #expect(authorization.state == .authorized)
        await transport.shutdown()
    }
}
