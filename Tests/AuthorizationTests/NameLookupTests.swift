import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportWire
import Testing

@testable import SallyportAuthorization

/// What the gateway's answers to queries for names become.
@Suite(.timeLimit(.minutes(1))) struct NameLookupTests {
    private static let service = "_kerberos._tcp.corp.example"

    private func message(_ code: DNSMessage.ResponseCode, _ data: [DNSMessage.Data] = []) throws -> [UInt8] {
        let name = try #require(DNSName(Self.service))
        let answers = data.map { DNSMessage.Record(name, timeToLive: 1, $0) }
        return try DNSMessage(answering: DNSMessage(query: .init(name, .srv)), code: code, answers: answers)
            .serialized()
    }

    private func answer(_ body: [UInt8]) async throws -> (services: [ServiceRecord]?, failure: LoadError?) {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        try await authorization.authorize()
        fixture.gateway.state.withLock { $0.bodies[ControlAPI.Path.names] = body }
        do throws(LoadError) {
            let services = try await authorization.services(of: Self.service)
            let sent = fixture.gateway.sent.last
            #expect(sent?.headerFields[.contentType] == "application/dns-message" && sent?.method == .post)
            #expect(sent?.identity != nil)
            return (services, nil)
        } catch {
            return (nil, error)
        }
    }

    @Test func servicesAreThoseThatHaveAHostAndAPort() async throws {
        let (host, root) = (try #require(DNSName("kdc.corp.example")), try #require(DNSName("")))
        let found = try await answer(
            message(
                .noError,
                [
                    .service(priority: 1, weight: 2, port: 88, target: host),
                    .service(priority: 0, weight: 0, port: 0, target: host),
                    .service(priority: 0, weight: 0, port: 88, target: root), .address(.v4(1)),
                ]))
        let endpoint = try Endpoint("kdc.corp.example:88")
        #expect(found.services == [ServiceRecord(endpoint, priority: 1, weight: 2)])
    }

    @Test(arguments: [
        (DNSMessage.ResponseCode.refused, LoadError.Code.refusedByPolicy), (.nameError, .cannotFindHost),
        (.serverFailure, .cannotFindHost),
    ])
    func otherAnswersAreTypedErrors(_ code: DNSMessage.ResponseCode, _ expected: LoadError.Code) async throws {
        let failure = try await answer(message(code)).failure
        #expect(failure?.code == expected && failure?.step == .nameLookup)
    }

    @Test func answersToOtherQueriesAreRefused() async throws {
        let name = try #require(DNSName("other.example"))
        let other = try DNSMessage(answering: DNSMessage(query: .init(name, .srv))).serialized()
        let query = try DNSMessage(query: .init(try #require(DNSName(Self.service)), .srv)).serialized()
        for body in [other, query, [], [1, 2, 3]] {
            #expect(try await answer(body).failure?.code == .cannotFindHost)
        }
    }

    @Test func noNameIsLookedUpWhileTheGateIsClosed() async throws {
        let fixture = try Fixture()
        let (_, store) = try await fixture.activated()
        let authorization = try fixture.authorization(on: store)
        let count = fixture.gateway.sent.count
        await #expect(throws: LoadError(.notAuthorized, "")) { try await authorization.services(of: Self.service) }
        #expect(fixture.gateway.sent.count == count)
    }
}
