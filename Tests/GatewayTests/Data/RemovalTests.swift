import Foundation
import HTTPTypes
import SallyportCore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// Rights that were removed by name stay removed when the same name is added again.
@Suite(.timeLimit(.minutes(1))) struct RemovalTests {
    static let app = "com.example.report"
    static let version = "1.0.0.0"

    /// Ways to end a user's right to an app and then to grant the same right again.
    enum Removal: CaseIterable, Sendable {
        case removeUser, pruneUser, unentitle, removeApplication, pruneApplication

        /// The status that an instance is told from then on.
        var status: ConfigurationDocument.Status {
            switch self {
            case .removeUser, .pruneUser: .wiped
            case .unentitle, .removeApplication, .pruneApplication: .denied
            }
        }

        var isOfUser: Bool { status == .wiped }

        func perform(in data: DataFixture) async throws {
            let before = try await data.shown()
            switch self {
            case .removeUser: try await data.perform(.removeUser("ann", confirmed: true))
            case .unentitle:
                try await data.perform(.unentitle(user: "ann", entitlement: app, version: version, confirmed: true))
            case .removeApplication:
                for version in ["1.0.0.0", "2.0.0.0"] {
                    try await data.perform(.removeApplication(entitlement: app, version: version, confirmed: true))
                }
            case .pruneUser: try await data.apply(before.replacing(/- name: ann\n(  .*\n)*/, with: "- name: eve\n"))
            case .pruneApplication: try await data.apply("users: [{name: ann}]")
            }
            try await data.apply(before)
        }
    }

    @Test(arguments: Removal.allCases)
    func anInstanceDoesNotComeBack(_ removal: Removal) async throws {
        let origin = try await TestOrigin(echoes: true)
        try await ControlFixture.with { fixture in
            try await fixture.data.perform(.addServer(.init(endpoint: "127.0.0.1:\(origin.port)")))
            let identity = try await fixture.activated()
            let token = try await fixture.token(as: identity)
            #expect(try await fixture.connect(to: origin.port, as: identity).status == 200)
            try await removal.perform(in: fixture.data)
            #expect(try await fixture.document(as: identity).status == removal.status)
            #expect(try await fixture.connect(to: origin.port, as: identity).status == 403)
            #expect(try await fixture.get(ControlAPI.Path.events, as: identity).status == 403)
            #expect(try await fixture.renew(as: identity).status == 403)
            await #expect(throws: TestFailure.self) { try await fixture.token(as: identity) }
            let verdict = removal.isOfUser ? "404 User Removed" : "403 Instance Withdrawn"
            #expect(try await fixture.verdict(of: token) == verdict)
            // The new user of that name is not affected.
            let own = try await fixture.activated()
            #expect(try await fixture.document(as: own).status == .active)
            #expect(try await fixture.connect(to: origin.port, as: own).status == 200)
        }
        try await origin.close()
    }

    @Test(arguments: Removal.allCases)
    func anUnusedLinkDoesNotComeBack(_ removal: Removal) async throws {
        try await ControlFixture.with { fixture in
            let link = try await fixture.data.link()
            try await removal.perform(in: fixture.data)
            #expect(try await fixture.enroll(link).status == 401)
            #expect(try await fixture.enroll(fixture.data.link()).status == 200)
        }
    }

    /// A gateway that is started again on the directory knows it too.
    @Test(arguments: Removal.allCases)
    func aRemovalIsDurable(_ removal: Removal) async throws {
        let fixture = try await DataFixture()
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        try await removal.perform(in: fixture)
        let again = try await fixture.restarted()
        let text = try await again.configuration(for: presented, version: nil)
        let document = try ConfigurationDocument(
            parsing: JWS(Array(text.utf8), type: ConfigurationDocument.type).payload)
        #expect(document.status == removal.status)
    }

    /// Adding the name again does not prolong the time for which a removed instance is answered.
    @Test func theThirtyDaysOfAnswersBeginWithTheRemoval() async throws {
        let fixture = try await DataFixture()
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        try await Removal.removeUser.perform(in: fixture)
        fixture.advance(30 * 86_400 - 1)
        #expect(try await fixture.document(presented).status == .wiped)
        fixture.advance(1)
        await #expect(throws: GatewayError.self) { try await fixture.document(presented) }
    }

    /// A use of the link during which its entitlement is removed and added again activates nothing.
    @Test func anEnrolmentBesideARemovalComesTooEarlyOrTooLate() async throws {
        let fixture = try await DataFixture()
        for round in 0..<20 {
            let link = try await fixture.link()
            let request = try DataFixture.request()
            async let enrolled = try? fixture.enroll(link, request)
            for _ in 0..<(round % 5) { await Task.yield() }
            try await Removal.unentitle.perform(in: fixture)
            guard let presented = await enrolled else { continue }
            #expect(try await fixture.document(presented).status == .denied)
        }
    }

    /// Users that `apply` keeps keep their identifiers, also with `--prune`.
    @Test func remainingUsersKeepTheirRights() async throws {
        let fixture = try await DataFixture()
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let link = try await fixture.link()
        try await fixture.apply(fixture.shown())
        #expect(try await fixture.document(presented).status == .active)
        _ = try await fixture.enroll(link, DataFixture.request())
    }
}

extension DataFixture {
    func shown() async throws -> String {
        guard case .configuration(let yaml) = await data.perform(.show) else { throw TestFailure("show") }
        return yaml
    }

    func apply(_ yaml: String) async throws {
        let reply = await data.perform(.apply(yaml: yaml, prune: true, dryRun: false, confirmed: true))
        guard case .changes = reply else { throw TestFailure("\(reply)") }
    }
}

extension ControlFixture {
    func token(as identity: ClientIdentity) async throws -> String {
        let body = Array(#"{"challenge":"c1","server":"app.example"}"#.utf8)
        let answer = try await post(
            AuthTokenAPI.Path.issue, body, as: identity, fields: [.contentType: ControlAPI.MediaType.json])
        guard answer.status == 200 else { throw TestFailure("token: \(answer.status)") }
        return try JSONDecoder().decode(AuthTokenAPI.Answer.self, from: Data(answer.body)).token
    }

    func verdict(of token: String) async throws -> String? {
        var fields = HTTPFields()
        fields[try #require(HTTPField.Name(AuthTokenAPI.Field.token))] = token
        let answer = try await get(AuthTokenAPI.Path.verify, fields: fields)
        return answer.fields[try #require(HTTPField.Name(AuthTokenAPI.Field.code))]
    }
}
