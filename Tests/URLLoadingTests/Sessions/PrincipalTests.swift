import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportURLLoading

/// An `Authorization` field of the app's own is a principal: CONTRACTS, "Principals".
@Suite(.timeLimit(.minutes(1)))
struct PrincipalTests {
    private let server: TestServer
    private let loading = URLLoadingSystem(gate: StubGate())

    init() throws {
        server = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") }
    }

    private func request(_ authorization: String?) throws -> LoadRequest {
        var request = try LoadRequest(.get, server.url())
        request.headerFields[.authorization] = authorization
        return request
    }

    @Test func usersWithFieldsOfTheirOwnShareNoConnection() async throws {
        let session = loading.makeSession()
        for user in ["Bearer ann", "Bearer bob", nil, "Bearer ann", "Bearer bob", nil] {
            #expect(await session.failure(try request(user)) == nil)
        }
        #expect(server.acceptedConnections == 3)
    }

    @Test func theFieldCountsMoreThanTheName() async throws {
        let session = loading.makeSession()
        for user in ["Bearer ann", "Bearer bob"] {
            var request = try request(user)
            request.options.principal = Principal("both")
            #expect(await session.failure(request) == nil)
        }
        #expect(server.acceptedConnections == 2)
    }

    @Test func theNameShowsNothingAndGoesByTheKey() throws {
        let key = Redacted([UInt8](repeating: 7, count: 32))
        let request = try request("Bearer secret")
        let first = PrincipalNames(key: key).principal(of: request)
        #expect(first == PrincipalNames(key: key).principal(of: request))
        #expect(first != PrincipalNames().principal(of: request))
        #expect(first?.name.contains("secret") == false)
        #expect(PrincipalNames(key: key).principal(of: try self.request(nil)) == nil)
    }
}
