import Crypto
import Foundation
import HTTPTypes
import Logging
import SallyportCore
import SallyportLoading
import SallyportWire
import Testing

@testable import SallyportGateway

/// The token paths of a running gateway, as apps and app servers see them.
@Suite(.timeLimit(.minutes(1))) struct TokenEndpointTests {
    private static func ask(
        _ fixture: ControlFixture, _ body: String, as identity: ClientIdentity?, type: String = "application/json"
    ) async throws -> ControlFixture.Answer {
        try await fixture.post(AuthTokenAPI.Path.issue, Array(body.utf8), as: identity, fields: [.contentType: type])
    }

    private static func token(_ fixture: ControlFixture, as identity: ClientIdentity) async throws -> String {
        let answer = try await ask(fixture, #"{"challenge":"c1","server":"app.example"}"#, as: identity)
        try #require(answer.status == 200 && answer.fields[.cacheControl] == "no-store")
        return try JSONDecoder().decode(AuthTokenAPI.Answer.self, from: Data(answer.body)).token
    }

    private static func fields(_ token: String?) throws -> HTTPFields {
        guard let token else { return [:] }
        return [try #require(HTTPField.Name(AuthTokenAPI.Field.token)): token]
    }

    private static func value(_ name: String, of answer: ControlFixture.Answer) throws -> String? {
        answer.fields[try #require(HTTPField.Name(name))]
    }

    @Test func anInstanceGetsATokenAndAnyoneMayVerifyIt() async throws {
        try await ControlFixture.with { fixture in
            let identity = try await fixture.activated()
            let token = try await Self.token(fixture, as: identity)
            let fields = try Self.fields(token)
            for answer in [
                try await fixture.get(AuthTokenAPI.Path.verify, fields: fields),
                try await fixture.get(AuthTokenAPI.Path.verify, fields: fields),
                try await fixture.getPlainly(AuthTokenAPI.Path.verify, fields: fields),
            ] {
                #expect(answer.status == 200 && answer.body.isEmpty)
                #expect(answer.fields[.cacheControl] == "no-store" && answer.fields[.contentType] == "text/plain")
                #expect(answer.fields[.contentLength] == "0")
                let name = try await fixture.data.data.presented(identity.certificates[0]).name
                for (field, value) in [
                    ("X-Good-GD-AuthResponseCode", "100 OK"), ("X-Good-GD-AuthTokenVersion", "2"),
                    ("X-Good-GD-UserID", "ann"), ("X-Good-GD-Server", "app.example"),
                    ("X-Good-GD-AuthChallenge", "c1"), ("X-Good-GD-AppID", "com.example.report"),
                    ("X-Good-GD-ContainerID", name.instance.description),
                ] {
                    #expect(try Self.value(field, of: answer) == value)
                }
                let created = try #require(try Self.value("X-Good-GD-AuthTokenCreationTime", of: answer))
                #expect(abs((Double(created) ?? 0) - Date.now.timeIntervalSince1970) < 60)
            }
        }
    }

    /// A caller that reads the user but not the result must get no user.
    @Test func aTokenThatDoesNotHoldIsNotToldAbout() async throws {
        try await ControlFixture.with { fixture in
            let identity = try await fixture.activated()
            let token = try await Self.token(fixture, as: identity)
            func verdict(_ token: String?) async throws -> String? {
                let answer = try await fixture.get(AuthTokenAPI.Path.verify, fields: Self.fields(token))
                #expect(answer.status == 200)
                let code = try Self.value(AuthTokenAPI.Field.code, of: answer)
                if code?.hasPrefix("100") == false {
                    let names = answer.fields.map { $0.name.canonicalName }.filter { $0.hasPrefix("x-good") }
                    #expect(Set(names) == ["x-good-gd-authresponsecode", "x-good-gd-authtokenversion"])
                }
                return code
            }
            #expect(try await verdict(nil) == "400 Malformed")
            #expect(try await verdict("x") == "400 Malformed")
            #expect(try await verdict(String(repeating: "A", count: 8193)) == "400 Malformed")
            #expect(try await verdict("\(token),\(token)") == "400 Malformed")
            let name = try await fixture.data.data.presented(identity.certificates[0]).name
            try await fixture.data.perform(.withdraw(instance: name.instance.description, .lock))
            #expect(try await verdict(token) == "403 Instance Withdrawn")
            try await fixture.data.perform(.removeUser("ann", confirmed: true))
            #expect(try await verdict(token) == "404 User Removed")
            fixture.data.advance(301)
            #expect(try await verdict(token) == "401 Expired")
        }
    }

    @Test func onlyInstancesInGoodStandingGetTokens() async throws {
        try await ControlFixture.with { fixture in
            let body = #"{"challenge":"","server":""}"#
            #expect(try await Self.ask(fixture, body, as: nil).status == 401)
            let identity = try await fixture.activated()
            #expect(try await Self.ask(fixture, body, as: identity).status == 200)
            for wrong in ["", "{}", "[]", #"{"challenge":1,"server":""}"#, #"{"challenge":"a b","server":""}"#] {
                #expect(try await Self.ask(fixture, wrong, as: identity).status == 400)
            }
            #expect(try await Self.ask(fixture, body, as: identity, type: "text/plain").status == 400)
            let padding = String(repeating: " ", count: AuthTokenAPI.Limits.request - body.utf8.count)
            #expect(try await Self.ask(fixture, body + padding, as: identity).status == 200)
            #expect(try await Self.ask(fixture, body + padding + " ", as: identity).status == 413)
            let name = try await fixture.data.data.presented(identity.certificates[0]).name
            try await fixture.data.perform(.withdraw(instance: name.instance.description, .block))
            #expect(try await Self.ask(fixture, body, as: identity).status == 403)
            try await fixture.data.perform(.withdraw(instance: name.instance.description, .unblock))
            fixture.data.advance(8 * 86_400)
            #expect(try await Self.ask(fixture, body, as: identity).status == 403)
        }
    }

    @Test func thePublishedKeysAreThoseThatSigned() async throws {
        try await ControlFixture.with { fixture in
            let identity = try await fixture.activated()
            let answer = try await fixture.get(AuthTokenAPI.Path.keys)
            #expect(answer.status == 200 && answer.fields[.contentType] == "application/jwk-set+json")
            #expect(answer.fields[.cacheControl] == "public, max-age=600")
            let keys = try JWKSet(parsing: answer.body)
            let signed = try SignedAuthToken(Array(await Self.token(fixture, as: identity).utf8))
            let key = try #require(keys.keys.first { $0.keyID == signed.keyID })
            #expect(try signed.claims(signedWith: key.publicKey()).user == "ann")
            #expect(!String(decoding: answer.body, as: UTF8.self).contains("\"d\""))
        }
    }

    /// Keys that came without TLS are worth nothing, and no other path belongs there.
    @Test func withoutTLSThereIsNothingButVerification() async throws {
        try await ControlFixture.with { fixture in
            for path in [AuthTokenAPI.Path.keys, ControlAPI.Path.health, ControlAPI.Path.configuration] {
                #expect(try await fixture.getPlainly(path).status == 404)
            }
            let answer = try await fixture.getPlainly(AuthTokenAPI.Path.verify)
            #expect(try Self.value(AuthTokenAPI.Field.code, of: answer) == "400 Malformed")
        }
    }

    @Test func sourcesAndInstancesAreSlowedDown() async throws {
        try await ControlFixture.with { fixture in
            let identity = try await fixture.activated()
            var statuses: Set<Int> = []
            for _ in 0..<1000 where !statuses.contains(429) {
                statuses.insert(try await fixture.get(AuthTokenAPI.Path.verify).status)
            }
            #expect(statuses == [200, 429])
            statuses = []
            for _ in 0..<400 where !statuses.contains(429) {
                statuses.insert(try await Self.ask(fixture, #"{"challenge":"","server":""}"#, as: identity).status)
            }
            #expect(statuses == [200, 429])
        }
    }

    @Test(arguments: ["0.0.0.0", "::", "192.0.2.1", "gateway.example"])
    func plainVerificationIsForThisMachineUnlessOneInsists(_ host: String) async throws {
        let data = try await DataFixture()
        var configuration = Gateway.Configuration()
        configuration.plainVerification = .init(host: host, port: 0)
        let gateway = Gateway(data: data.data, at: data.path, configuration: configuration, logger: .init(label: "t"))
        await #expect(throws: GatewayError(.invalid, "")) { try await gateway.run() }
    }
}
