import Foundation
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportHTTPAuthentication
import SallyportLoading
import SallyportURLLoading
import SallyportWire
import TestSupport
import Testing

@testable import SallyportKerberos

/// Servers that say what no server should, and those that offer several methods. Tickets are of a real KDC.
@Suite(.timeLimit(.minutes(2)))
struct HostileNegotiateTests {
    private func realm() async throws -> TestKDC {
        let kdc = try await TestKDC.start()
        try await kdc.addUser("ann", password: "secret")
        try await kdc.addService("HTTP/127.0.0.1")
        return kdc
    }

    /// Asks, and answers what is said to it with `fields`.
    private static func server(
        offers: String = "WWW-Authenticate: Negotiate", status: String = "200 OK", _ fields: String,
        _ seen: Lock<[String]> = Lock([])
    ) throws -> TestServer {
        try TestServer { connection in
            while let head = connection.readHead() {
                let said = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("authorization:") }
                seen.withLock { $0.append(said.map { String($0.dropFirst(15).prefix { $0 != " " }) } ?? "-") }
                guard said != nil else {
                    connection.write("HTTP/1.1 401 Unauthorized\r\n\(offers)\r\nContent-Length: 0\r\n\r\n")
                    continue
                }
                connection.write("HTTP/1.1 \(status)\r\n\(fields)Content-Length: 2\r\n\r\nok")
            }
        }
    }

    static func field(_ token: SPNEGOToken) -> String {
        "WWW-Authenticate: Negotiate \(Base64.encode(token.serialized))\r\n"
    }

    static let forged = KerberosToken(.reply, [0x6f, 0x02, 0x30, 0x00]).serialized
    static let wrongAnswers = [
        "", "WWW-Authenticate: Negotiate !!\r\n", "WWW-Authenticate: Negotiate AAAA\r\n",
        field(.answer(SPNEGOAnswer(.completed, mechanism: .kerberos))),
        field(.answer(SPNEGOAnswer(.completed, mechanism: .kerberos, token: forged))),
        field(.answer(SPNEGOAnswer(.incomplete, mechanism: .kerberos, token: forged))),
        field(.answer(SPNEGOAnswer(.completed, mechanism: .kerberos, token: [0x60, 0x80]))),
        field(.offer(SPNEGOOffer([.kerberos], token: forged))),
        "WWW-Authenticate: Negotiate \(Base64.encode(forged))\r\n",
        "WWW-Authenticate: Negotiate \(String(repeating: "A", count: 40_000))\r\n",
    ]

    @Test(arguments: wrongAnswers) func aServerThatIsNotTheServiceIsAnError(answer: String) async throws {
        let (kdc, server) = (try await realm(), try Self.server(answer))
        let app = try KerberosApp([kdc])
        await #expect(throws: LoadError(.serverNotAuthenticated, "")) {
            try await app.load("http://127.0.0.1:\(server.port)/", .ann())
        }
        await app.loading.shutdown()
    }

    /// A token that is sent without a challenge may stay unanswered, but must not get a wrong answer.
    @Test func aWrongAnswerToATokenSentAheadIsAnError() async throws {
        let kdc = try await realm()
        let answers = Lock(0)
        let server = try TestServer { connection in
            while let head = connection.readHead() {
                let count = answers.withLock { count in
                    count += 1
                    return count
                }
                let isAsking = !head.lowercased().contains("\r\nauthorization:")
                // The first answer is an error, which needs no proof; the next says nothing; the last one lies.
                let status = isAsking ? "401 U\r\nWWW-Authenticate: Negotiate" : count == 2 ? "404 N" : "200 OK"
                let field = count == 4 ? Self.field(.answer(SPNEGOAnswer(.completed, token: Self.forged))) : ""
                connection.write("HTTP/1.1 \(status)\r\n\(field)Content-Length: 0\r\n\r\n")
            }
        }
        let app = try KerberosApp([kdc])
        let url = "http://127.0.0.1:\(server.port)/"
        #expect(try await app.load(url, .ann()).status == 404)
        #expect(try await app.load(url, .ann()).status == 200)
        await #expect(throws: LoadError(.serverNotAuthenticated, "")) { try await app.load(url, .ann()) }
        #expect(answers.withLock { $0 } == 4)
        await app.loading.shutdown()
    }

    /// What stands before a service may fail without asking it.
    @Test func anErrorNeedsNoProof() async throws {
        let (kdc, server) = (try await realm(), try Self.server(status: "503 Service Unavailable", ""))
        let app = try KerberosApp([kdc])
        #expect(try await app.load("http://127.0.0.1:\(server.port)/", .ann()).status == 503)
        await app.loading.shutdown()
    }

    @Test func aServerThatAsksForEverIsLeft() async throws {
        let kdc = try await realm()
        let asked = Lock(0)
        let server = try TestServer { connection in
            while connection.readHead() != nil {
                asked.withLock { $0 += 1 }
                connection.write(
                    "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Negotiate oQcwBaADCgEB\r\nContent-Length: 0\r\n\r\n"
                )
            }
        }
        let app = try KerberosApp([kdc])
        #expect(try await app.load("http://127.0.0.1:\(server.port)/", .ann()).status == 401)
        #expect(asked.withLock { $0 } <= 4)
        await app.loading.shutdown()
    }

    // MARK: Several methods

    static let both = [
        "WWW-Authenticate: Negotiate\r\nWWW-Authenticate: Basic realm=\"x\"",
        "WWW-Authenticate: Basic realm=\"x\"\r\nWWW-Authenticate: Negotiate",
        "WWW-Authenticate: Negotiate, Basic realm=x",
    ]

    /// The servers of these tests have no TLS.
    private static func sessionWithBasic(_ app: KerberosApp) -> SecureSession {
        var configuration = SessionConfiguration()
        configuration.allowsBasicOverPlainHTTP = true
        return app.loading.makeSession(configuration)
    }

    @Test(arguments: both) func aUserWithoutARealmIsLeftToTheNextMethod(offers: String) async throws {
        let (kdc, seen) = (try await realm(), Lock<[String]>([]))
        let server = try Self.server(offers: offers, "", seen)
        let app = try KerberosApp([kdc])
        let credential = Credential(user: "ann", password: Redacted("secret"))
        let session = Self.sessionWithBasic(app)
        #expect(try await app.load("http://127.0.0.1:\(server.port)/", credential, in: session).status == 200)
        #expect(seen.withLock { $0 } == ["-", "Basic"])
        #expect(kdc.count("AS_REQ") == 0)
        await app.loading.shutdown()
    }

    /// The KDC's answer can be forged, and must not bring the password to the server.
    @Test(arguments: [both[0], both[2]])
    func aPasswordThatTheRealmRefusesIsNotSaidByTheNextMethod(offers: String) async throws {
        let (kdc, seen) = (try await realm(), Lock<[String]>([]))
        let server = try Self.server(offers: offers, "", seen)
        let app = try KerberosApp([kdc])
        let session = Self.sessionWithBasic(app)
        #expect(try await app.load("http://127.0.0.1:\(server.port)/", .ann("wrong"), in: session).status == 401)
        #expect(seen.withLock { $0 } == ["-"])
        await app.loading.shutdown()
    }

    @Test func theServersOrderCounts() async throws {
        let (kdc, seen) = (try await realm(), Lock<[String]>([]))
        let first = try Self.server(offers: Self.both[0], status: "404 Not Found", "", seen)
        let second = try Self.server(offers: Self.both[1], "", seen)
        let app = try KerberosApp([kdc])
        let session = Self.sessionWithBasic(app)
        _ = try await app.load("http://127.0.0.1:\(first.port)/", .ann(), in: session)
        _ = try await app.load("http://127.0.0.1:\(second.port)/", .ann(), in: session)
        #expect(seen.withLock { $0 } == ["-", "Negotiate", "-", "Basic"])
        await app.loading.shutdown()
    }

    // MARK: Proxies

    /// A proxy that wants a ticket, and stands for what is behind it.
    @Test func aProxyThatAsksIsAnsweredAndAskedOnce() async throws {
        let (kdc, seen) = (try await realm(), Lock<[String]>([]))
        let proxy = try TestServer { connection in
            while let head = connection.readHead() {
                let said = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("proxy-authorization:") }
                seen.withLock { $0.append(said.map { String($0.dropFirst(21).prefix { $0 != " " }) } ?? "-") }
                connection.write(
                    said == nil
                        ? "HTTP/1.1 407 Asked\r\nProxy-Authenticate: Negotiate\r\nContent-Length: 0\r\n\r\n"
                        : "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let app = try KerberosApp([kdc])
        var configuration = SessionConfiguration()
        configuration.proxies.http = try Proxy("http://127.0.0.1:\(proxy.port)")
        let session = app.loading.makeSession(configuration)
        for number in 1...3 {
            var request = try LoadRequest.get("http://web.example/\(number)")
            request.options.proxyCredential = .ann()
            let answer = try await session.data(for: request)
            let (body, response) = (answer.body, answer.head)
            #expect(response.status == .ok && String(decoding: body, as: UTF8.self) == "ok")
        }
        #expect(seen.withLock { $0 } == ["-", "Negotiate", "Negotiate", "Negotiate"])
        #expect(kdc.count("AS_REQ") == 1 && kdc.count("TGS_REQ") == 1)
        await app.loading.shutdown()
    }

    /// A service that the realm does not know is an error, and no reason to show a password.
    @Test func noPasswordIsShownWhereNoTicketCanBeHad() async throws {
        let kdc = try await TestKDC.start()
        try await kdc.addUser("ann", password: "secret")
        let seen = Lock<[String]>([])
        let server = try Self.server(offers: Self.both[0], "", seen)
        let app = try KerberosApp([kdc])
        do {
            _ = try await app.load("http://127.0.0.1:\(server.port)/", .ann())
            Issue.record("An answer without a ticket")
        } catch let error as LoadError {
            #expect(error.code == .kerberosFailed)
            #expect((error.underlying as? KerberosError)?.code == .unknownService)
        }
        #expect(seen.withLock { $0 } == ["-"])
        await app.loading.shutdown()
    }

    /// Tickets that happen to be there are no reason to fail where they are worth nothing: the app is asked.
    @Test func aServerOfNoRealmIsAnsweredByTheNextMethod() async throws {
        let kdc = try await realm()
        try await kdc.administer("delprinc -force HTTP/127.0.0.1")
        try await kdc.addService("HTTP/other.example")
        let seen = Lock<[String]>([])
        let server = try Self.server(offers: Self.both[0], "", seen)
        let app = try KerberosApp([kdc])
        _ = try await app.ticket("other.example", "ann@EXAMPLE.TEST", "secret")
        #expect(try await app.load("http://127.0.0.1:\(server.port)/").status == 401)
        let space = ProtectionSpace(origin: "http://127.0.0.1:\(server.port)", realm: "x", method: .basic)
        await app.credentials.setDefault(Credential(user: "b", password: Redacted("c")), for: space)
        #expect(try await app.load("http://127.0.0.1:\(server.port)/").status == 200)
        #expect(seen.withLock { $0 } == ["-", "-", "Basic"])
        await app.loading.shutdown()
    }

    @Test func aLoadEndsInItsTimeThoughItsRealmIsSilent() async throws {
        let silent = try TestServer { $0.awaitEnd() }
        let server = try Self.server("")
        let app = try KerberosApp([], others: ["EXAMPLE.TEST": [try silent.endpoint]])
        var request = try LoadRequest.get("http://127.0.0.1:\(server.port)/")
        request.options.credential = .ann()
        request.options.resourceTimeout = .seconds(1)
        let begun = ContinuousClock.now
        await #expect(throws: LoadError(.resourceTimeout, "")) { try await app.loading.session.data(for: request) }
        #expect(ContinuousClock.now - begun < .seconds(10))
        await app.loading.shutdown()
    }

    /// The password of a credential that is not kept is not kept here either.
    @Test func aPasswordForOneLoadIsForgotten() async throws {
        let (kdc, server) = (try await realm(), try Self.server(status: "404 Not Found", ""))
        let app = try KerberosApp([kdc])
        var credential = Credential.ann()
        credential.persistence = .none
        #expect(try await app.load("http://127.0.0.1:\(server.port)/", credential).status == 404)
        #expect(try await app.kerberos.tickets().count == 2)
        let owner = TicketOwner(principal: .instance, user: try KerberosUser("ann@EXAMPLE.TEST"))
        #expect(await app.kerberos.state.books[owner]?.source == nil)
        #expect(try await app.load("http://127.0.0.1:\(server.port)/", credential).status == 404)
        #expect(await app.kerberos.state.books[owner]?.source == nil, "also where the tickets were there already")
        app.clock.advance(by: 7200)
        await #expect(throws: KerberosError(.noTicket, "")) {
            try await app.ticket("127.0.0.1", "ann@EXAMPLE.TEST", nil)
        }
        await app.loading.shutdown()
    }

    @Test func aRedirectTakesNoTokenAlong() async throws {
        let (kdc, seen) = (try await realm(), Lock<[String]>([]))
        let target = try TestServer { connection in
            while let head = connection.readHead() {
                seen.withLock { $0.append(head.lowercased().contains("authorization:") ? "token" : "-") }
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let location = "Location: http://127.0.0.1:\(target.port)/\r\n"
        let server = try TestServer { connection in
            while connection.readHead() != nil {
                connection.write("HTTP/1.1 302 Found\r\n\(location)Content-Length: 0\r\n\r\n")
            }
        }
        let app = try KerberosApp([kdc])
        _ = try await app.ticket("127.0.0.1", "ann@EXAMPLE.TEST", "secret")
        #expect(try await app.load("http://127.0.0.1:\(server.port)/", .ann()).status == 200)
        #expect(seen.withLock { $0 } == ["-"])
        await app.loading.shutdown()
    }

    @Test func noSecretIsInWhatIsPrinted() async throws {
        let kdc = try await realm()
        let app = try KerberosApp([kdc])
        let tickets = try await app.ticket("127.0.0.1", "ann@EXAMPLE.TEST", "secret")
        let owner = TicketOwner(principal: .instance, user: try KerberosUser("ann@EXAMPLE.TEST"))
        let signature = NegotiateSignature(
            app.kerberos, owner, ServiceName(service: "HTTP", host: "127.0.0.1"), tickets, to: .server)
        let token = try #require(await signature.make())
        let other = try #require(await signature.make())
        #expect(token.reveal() != other.reveal(), "another token for each time")
        var printed = ""
        dump(tickets, to: &printed)
        dump(app.kerberos, to: &printed)
        printed += "\(token) \(try await app.kerberos.tickets())"
        #expect(!printed.contains("secret") && !printed.contains(token.reveal()))
        await app.loading.shutdown()
    }
}
