import Foundation
import HTTPTypes
import HashTreeCollections
import SallyportBase
import SallyportCore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// The control plane of a running gateway, over TLS, as a client sees it.
@Suite struct ControlPlaneTests {
    @Test func healthNeedsNoCertificate() async throws {
        try await ControlFixture.with { fixture in
            let answer = try await fixture.get(ControlAPI.Path.health)
            #expect(answer.status == 200)
        }
    }

    @Test(arguments: [ControlAPI.Path.configuration, ControlAPI.Path.events])
    func aPathThatNeedsACertificateRefusesWithout(path: String) async throws {
        try await ControlFixture.with { fixture in
            let answer = try await fixture.get(path)
            #expect(answer.status == 401)
            #expect(try answer.failure().error.name == "unauthorized")
        }
    }

    /// What a proxy in front might add counts for nothing.
    @Test func aForwardedCertificateIsNotTrusted() async throws {
        try await ControlFixture.with { fixture in
            let identity = try await fixture.activated()
            let der = Data(identity.certificates[0]).base64EncodedString()
            for name in ["X-Client-Cert", "X-SSL-Client-Cert", "X-Forwarded-Client-Cert", "Client-Cert"] {
                var fields = HTTPFields()
                fields[try #require(HTTPField.Name(name))] = ":\(der):"
                #expect(try await fixture.get(ControlAPI.Path.configuration, fields: fields).status == 401)
            }
        }
    }

    @Test func anExpiredCertificateMayOnlyRenew() async throws {
        try await ControlFixture.with { fixture in
            let identity = try await fixture.activated()
            #expect(try await fixture.get(ControlAPI.Path.configuration, as: identity).status == 200)
            fixture.data.advance(8 * 86_400)
            for path in [ControlAPI.Path.configuration, ControlAPI.Path.events] {
                let answer = try await fixture.get(path, as: identity)
                #expect(answer.status == 403)
                #expect(try answer.failure().error.name == "expired")
            }
            #expect(try await fixture.renew(as: identity).status == 200)
        }
    }

    @Test func aCertificateOfAnotherAuthorityIsNoIdentity() async throws {
        try await ControlFixture.with { fixture in
            let foreign = try await DataFixture()
            let identity = try await foreign.identity()
            await #expect(throws: LoadError.self) {
                try await fixture.get(ControlAPI.Path.configuration, as: identity)
            }
        }
    }

    /// It was away while its certificate expired, and while it was wiped.
    @Test func aWipedInstanceHearsOfItWithAnExpiredCertificateForThirtyDays() async throws {
        try await ControlFixture.with { fixture in
            let identity = try await fixture.activated()
            fixture.data.advance(6 * 86_400)
            let name = try await fixture.data.data.presented(identity.certificates[0]).name
            try await fixture.data.perform(.withdraw(instance: name.instance.description, .wipe))
            fixture.data.advance(20 * 86_400)
            #expect(try await fixture.renew(as: identity).status == 403)
            #expect(try await fixture.document(as: identity).status == .wiped)
            #expect(try await fixture.get(ControlAPI.Path.events, as: identity).status == 403)
            fixture.data.advance(10 * 86_400)
            #expect(try await fixture.get(ControlAPI.Path.configuration, as: identity).status == 403)
        }
    }

    @Test func aWipedInstanceHearsOfItAndGetsNothingElse() async throws {
        try await ControlFixture.with { fixture in
            let identity = try await fixture.activated()
            let name = try await fixture.data.data.presented(identity.certificates[0]).name
            try await fixture.data.perform(.withdraw(instance: name.instance.description, .wipe))
            #expect(try await fixture.get(ControlAPI.Path.configuration, as: identity).status == 200)
            #expect(try await fixture.get(ControlAPI.Path.events, as: identity).status == 403)
            #expect(try await fixture.renew(as: identity).status == 403)
            let stored = "\(ControlAPI.Path.storedConfiguration)?\(ControlAPI.Query.stored)=1"
            #expect(try await fixture.post(stored, [], as: identity).status == 403)
            let query: HTTPFields = [.contentType: ControlAPI.MediaType.query]
            #expect(try await fixture.post(ControlAPI.Path.names, [0], as: identity, fields: query).status == 403)
        }
    }

    @Test func aBodyOverTheLimitIsRefused() async throws {
        try await ControlFixture.with { fixture in
            let body = [UInt8](repeating: UInt8(ascii: "A"), count: ControlAPI.Limits.request + 1)
            #expect(try await fixture.post(ControlAPI.Path.reenroll, body).status >= 400)
            let identity = try await fixture.activated()
            #expect(try await fixture.post(ControlAPI.Path.reenroll, body, as: identity).status == 413)
        }
    }

    @Test(arguments: ["version=1.x", "version=1.2.3.4.5", "entitlement=REPORT", "entitlement="])
    func anEnrolmentForWhatIsNoAppIsRefusedAndUsesNoKey(query: String) async throws {
        try await ControlFixture.with { fixture in
            let link = try await fixture.data.link()
            let credentials = BasicCredentials(user: link.user, password: link.accessKey).fieldValue.reveal()
            let body = Array(ESTBody.encode(try DataFixture.request()).utf8)
            for (path, status) in [("\(ControlAPI.Path.enroll)?\(query)", 400), (ControlAPI.Path.enroll, 200)] {
                let answer = try await fixture.post(path, body, fields: [.authorization: credentials])
                #expect(answer.status == status)
            }
        }
    }

    @Test(arguments: ["", "!!!", "AAAA", "MAA="])
    func aMalformedRenewalIsRefusedAndChangesNothing(body: String) async throws {
        try await ControlFixture.with { fixture in
            let identity = try await fixture.activated()
            #expect(try await fixture.post(ControlAPI.Path.reenroll, Array(body.utf8), as: identity).status == 400)
            #expect(try await fixture.get(ControlAPI.Path.configuration, as: identity).status == 200)
        }
    }

    @Test func namesAreAnsweredForInstancesThatThePolicyRelaysThere() async throws {
        try await ControlFixture.with { fixture in
            let identity = try await fixture.activated()
            let name = try #require(DNSName("db.corp.example"))
            let query = try DNSMessage(query: .init(name, .a)).serialized()
            func ask(_ body: [UInt8]) async throws -> ControlFixture.Answer {
                try await fixture.post(
                    ControlAPI.Path.names, body, as: identity, fields: [.contentType: ControlAPI.MediaType.query])
            }
            #expect(try await fixture.post(ControlAPI.Path.names, query).status == 401)
            #expect(try DNSMessage(parsing: await ask(query).body).code == .refused)
            try await fixture.data.perform(
                .addServer(.init(endpoint: "db.corp.example:5432", address: "10.1.2.3")))
            let answer = try DNSMessage(parsing: await ask(query).body)
            #expect(answer.answers.map(\.data) == [.address(.v4(0x0a01_0203))])
            try await fixture.data.perform(.setRoute(domain: "corp.example", route: "deny", ports: nil))
            #expect(try DNSMessage(parsing: await ask(query).body).code == .refused)
            #expect(try await ask([1, 2, 3]).status == 400)
            #expect(try await fixture.post(ControlAPI.Path.names, query, as: identity).status == 400)
            #expect(try await ask([UInt8](repeating: 0, count: ControlAPI.Limits.query + 1)).status == 413)
            var statuses: Set<Int> = []
            for _ in 0..<200 where !statuses.contains(429) { statuses.insert(try await ask(query).status) }
            #expect(statuses == [200, 429])
        }
    }

    /// HTTP allows a body to come seconds after its head.
    @Test(arguments: TakenBack.allCases)
    func aNameIsRefusedIfItsInstanceWasWithdrawnBetweenTheHeadAndTheQuery(_ how: TakenBack) async throws {
        try await ControlFixture.with { fixture in
            try await fixture.data.perform(
                .addServer(.init(endpoint: "db.corp.example:5432", address: "10.1.2.3")))
            let identity = try await fixture.renewed(fixture.activated())
            let presented = try await fixture.data.data.presented(identity.certificates[0])
            let name = try #require(DNSName("db.corp.example"))
            let query = try DNSMessage(query: .init(name, .a)).serialized()
            let connection = try await fixture.connection(as: identity)
            connection.send(
                "POST \(ControlAPI.Path.names) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                    + "Content-Type: \(ControlAPI.MediaType.query)\r\nContent-Length: \(query.count)\r\n\r\n")
            // The request was admitted once its certificate, which was not used before, has replaced the first one.
            let isAdmitted = try await eventually {
                let record = await fixture.data.data.instances[presented.name.instance]
                return record?.standing(of: presented.serial) == .current
            }
            try #require(isAdmitted)
            try await how.takeBack(presented.name.instance, at: fixture.data)
            connection.send(query)
            #expect(try await connection.head().hasPrefix("HTTP/1.1 200"))
            #expect(try await DNSMessage(parsing: connection.rest()).code == .refused)
        }
    }

    enum TakenBack: CaseIterable {
        case instance, authority

        func takeBack(_ instance: InstanceIdentifier, at fixture: DataFixture) async throws {
            switch self {
            case .instance: try await fixture.perform(.withdraw(instance: instance.description, .lock))
            case .authority:
                for action: AuthorityAction in [.rotate, .finish(confirmed: true), .revoke(confirmed: true)] {
                    guard case .authority = await fixture.data.perform(.authority(action)) else {
                        throw TestFailure("\(action) was refused.")
                    }
                }
            }
        }
    }

    @Test func anUnknownPathIsNotFound() async throws {
        try await ControlFixture.with { fixture in
            let answer = try await fixture.get("/v2/anything")
            #expect(answer.status == 404)
        }
    }
}
