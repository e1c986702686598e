import Crypto
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing
import TransportTestSupport

/// Connections that one owner has to itself, and what proofs over them are bound to.
@Suite(.timeLimit(.minutes(1)), .onBothEnginesAsUsual)
struct BoundConnectionTests {
    private let transport = Transport()
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private func exchange(
        _ request: ExchangeRequest, of owner: UInt64?, over path: ConnectionPath = ConnectionPath()
    ) async throws -> ConnectionFacts {
        var path = path
        path.owner = owner
        let response = try await transport.exchange(request, via: path)
        _ = try await response.body.collect(upTo: .kibibytes(8))
        return response.facts.connection
    }

    private func failure(_ request: ExchangeRequest, of owner: UInt64) async -> LoadError? {
        await #expect(throws: LoadError.self) { _ = try await exchange(request, of: owner) }
    }

    private func requiring(_ number: UInt64?, _ request: ExchangeRequest) -> ExchangeRequest {
        var request = request
        request.requiredConnection = number
        return request
    }

    @Test func eachOwnerHasItsOwnConnection() async throws {
        let server = try TestServer { $0.answerAll(Self.ok) }
        let request = try ExchangeRequest(.get, server.url())
        var numbers: [UInt64?] = []
        for owner: UInt64? in [1, 2, nil, 1, 2, nil] {
            numbers.append(try await exchange(request, of: owner).number)
        }
        #expect(server.acceptedConnections == 3)
        #expect(numbers[0] != nil && numbers[0] == numbers[3] && numbers[1] == numbers[4])
        #expect(numbers[0] != numbers[1] && numbers[2] == nil && numbers[5] == nil)
    }

    @Test func anOwnersExchangesGoOneAfterAnother() async throws {
        let server = try TestServer { $0.answerAll(Self.ok) }
        let request = try ExchangeRequest(.get, server.url())
        try await withThrowingTaskGroup(of: UInt64?.self) { group in
            for _ in 0..<10 { group.addTask { try await exchange(request, of: 1).number } }
            var numbers: Set<UInt64?> = []
            for try await number in group { numbers.insert(number) }
            #expect(numbers.count == 1)
        }
        #expect(server.acceptedConnections == 1)
    }

    @Test func aServerOfHTTP2IsSpokenToByHTTP1() async throws {
        let web = try await WebServer.start()
        #expect(try await exchange(web.request("/small"), of: 1, over: web.path()).httpVersion == "HTTP/1.1")
        #expect(try await exchange(web.request("/small"), of: nil, over: web.path()).httpVersion == "HTTP/2")
    }

    @Test func theRequiredConnectionIsUsed() async throws {
        let server = try TestServer { $0.answerAll(Self.ok) }
        let request = try ExchangeRequest(.get, server.url())
        let number = try await exchange(request, of: 1).number
        for _ in 0..<3 { #expect(try await exchange(requiring(number, request), of: 1).number == number) }
        #expect(server.acceptedConnections == 1)
    }

    @Test func noOtherConnectionTakesThePlaceOfTheRequiredOne() async throws {
        let server = try TestServer { $0.answerAll(Self.ok) }
        let request = try ExchangeRequest(.post, server.url(), body: .text("secret"))
        let number = try #require(try await exchange(request, of: 1).number)
        for (owner, required) in [(1, number + 1000), (2, number), (3, 1)] as [(UInt64, UInt64)] {
            let error = await failure(requiring(required, request), of: owner)
            #expect(error?.code == .connectionLost && error?.underlying is BoundConnectionLost)
        }
        #expect(server.acceptedConnections == 1, "none was made for them")
    }

    @Test func nothingIsSentWhereTheRequiredConnectionWasClosed() async throws {
        let server = try TestServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write(Self.ok)
        }
        let request = try ExchangeRequest(.post, server.url(), body: .once { _ in Issue.record("The body is read.") })
        let number = try await exchange(ExchangeRequest(.get, server.url()), of: 1).number
        #expect(try await eventually { server.openConnections == 0 })
        let error = await failure(requiring(number, request), of: 1)
        #expect(error?.code == .connectionLost && error?.underlying is BoundConnectionLost)
        #expect(server.acceptedConnections == 1)
        // An exchange that requires no particular connection opens a new one.
        let next = try await exchange(ExchangeRequest(.get, server.url()), of: 1).number
        #expect(next != nil && next != number)
    }

    /// What was sent and not answered may have been done.
    @Test(arguments: [HTTPRequest.Method.get, .post])
    func onlyWhatCanBeSentTwiceMayBeMadeAnew(_ method: HTTPRequest.Method) async throws {
        let server = try TestServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write(Self.ok)
            _ = connection.readHead()
        }
        let number = try await exchange(ExchangeRequest(.get, server.url()), of: 1).number
        let request = try ExchangeRequest(method, server.url(), body: method == .post ? .text("order") : nil)
        let error = await failure(requiring(number, request), of: 1)
        #expect(error?.code == .connectionLost)
        #expect((error?.underlying is BoundConnectionLost) == (method == .get))
        #expect(server.acceptedConnections == 1)
    }

    @Test func itIsClosedWhenItsOwnerLetsGo() async throws {
        let server = try TestServer { $0.answerAll(Self.ok) }
        var connection: BoundConnection? = BoundConnection()
        let number = try #require(connection?.number)
        connection?.closes { [transport] in transport.closeConnections { $0.owner == number } }
        _ = try await exchange(ExchangeRequest(.get, server.url()), of: number)
        _ = try await exchange(ExchangeRequest(.get, server.url()), of: nil)
        #expect(server.openConnections == 2)
        connection = nil
        #expect(try await eventually { server.openConnections == 1 })
    }

    @Test func twoHundredOwnersAtOnceHaveTwoHundredConnections() async throws {
        let server = try TestServer { $0.answerAll(Self.ok) }
        let request = try ExchangeRequest(.get, server.url())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for owner in 1...200 {
                group.addTask {
                    let number = try await exchange(request, of: UInt64(owner)).number
                    #expect(try await exchange(requiring(number, request), of: UInt64(owner)).number == number)
                }
            }
            try await group.waitForAll()
        }
        #expect(server.acceptedConnections == 200)
    }

    // MARK: Channel bindings

    private static let unauthorized = "HTTP/1.1 401 U\r\nWWW-Authenticate: NTLM\r\nContent-Length: 0\r\n\r\n"

    @Test(arguments: [false, true])
    func aServerThatAsksIsKnownByItsCertificate(isRelayed: Bool) async throws {
        let world = try World()
        let answers = Lock(["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", Self.unauthorized, Self.unauthorized])
        let origin = try TestServer { connection in
            guard let connection = world.originTLS.accept(connection) else { return }
            while connection.readHead() != nil { connection.write(answers.withLock { $0.popLast() ?? "" }) }
        }
        let relay = try world.relay()
        let path =
            isRelayed ? try world.path(relay) : ConnectionPath(trust: .only([try world.origin.der]))
        let request = try ExchangeRequest(.get, origin.url(scheme: "https"))
        let hash = Array(SHA256.hash(data: try world.originTLS.identity.der))
        for owner: UInt64? in [nil, 1] {
            let facts = try await exchange(request, of: owner, over: path)
            #expect(facts.channelBinding?.certificateHash == hash)
        }
        #expect(try await exchange(request, of: 1, over: path).channelBinding == nil, "nobody asks")
        await transport.shutdown()
    }

    @Test func withoutTLSThereIsNoBinding() async throws {
        let server = try TestServer { $0.answerAll(Self.unauthorized) }
        #expect(try await exchange(ExchangeRequest(.get, server.url()), of: 1).channelBinding == nil)
    }

    /// RFC 4121 §4.1.1.2.
    @Test func theStructureHasNoAddresses() {
        let binding = ChannelBinding(certificateHash: [1, 2, 3])
        let data = Array("tls-server-end-point:".utf8) + [1, 2, 3]
        #expect(binding.structure == [UInt8](repeating: 0, count: 16) + [24, 0, 0, 0] + data)
    }
}
