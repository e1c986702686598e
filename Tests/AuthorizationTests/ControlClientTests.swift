import SallyportAuthorization
import SallyportCore
import SallyportTransport
import TestSupport
import Testing

@Suite("The control client over TLS", .timeLimit(.minutes(1))) struct ControlClientTests {
    private let authority: TestAuthority
    private let server: TestServer

    init() throws {
        authority = try TestAuthority()
        let tls = TestTLS(try authority.server(addresses: [#require(IPAddress("127.0.0.1"))]))
        server = try TestServer { connection in
            guard let tls = tls.accept(connection), tls.readHead() != nil else { return }
            _ = tls.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
            tls.end()
        }
    }

    private func send(_ trust: ControlRequest.Trust, to gateway: Endpoint? = nil) async throws -> ControlAnswer {
        let transport = Transport()
        let request = ControlRequest(
            gateway: try gateway ?? server.endpoint, target: "/", trust: trust, limit: 2, timeout: .seconds(5))
        do {
            let answer = try await TransportControlClient(transport).send(request)
            await transport.shutdown()
            return answer
        } catch {
            await transport.shutdown()
            throw error
        }
    }

    @Test("Public certificates may come from anybody") func unverified() async throws {
        #expect(try await send(.anybody).body == Array("ok".utf8))
    }

    @Test("The pinned authority is reached") func pinned() async throws {
        #expect(try await send(.authorities([authority.der])).status == 200)
    }

    @Test("Another authority gets nothing") func otherAuthority() async throws {
        let other = try TestAuthority().der
        await #expect { try await send(.authorities([other])) } throws: {
            ($0 as? LoadError)?.code == .serverNotTrusted
        }
    }

    @Test("Another host under the same authority gets nothing") func otherHost() async throws {
        let gateway = try Endpoint("localhost:\(server.port)")
        let other = try TestTLS(authority.server(names: ["other.example"]))
        let impostor = try TestServer { connection in
            guard let tls = other.accept(connection), tls.readHead() != nil else { return }
            _ = tls.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        let target = try Endpoint(host: gateway.host, port: impostor.port)
        await #expect { try await send(.authorities([authority.der]), to: target) } throws: {
            ($0 as? LoadError)?.code == .serverNotTrusted
        }
    }

    @Test("An instance's certificate cannot play gateway") func instanceAsGateway() async throws {
        let tls = try TestTLS(authority.server(addresses: [#require(IPAddress("127.0.0.1"))], usage: .client))
        let impostor = try TestServer { connection in
            guard let tls = tls.accept(connection), tls.readHead() != nil else { return }
            _ = tls.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        await #expect(throws: LoadError.self) { try await send(.authorities([authority.der]), to: impostor.endpoint) }
    }
}
