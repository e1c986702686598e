import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportWire
import Testing

@testable import SallyportGateway

/// Wrong access keys at a running gateway, all from one address.
@Suite(.timeLimit(.minutes(1))) struct WrongTriesTests {
    @Test func wrongTriesHoldUpNoValidOne() async throws {
        try await ControlFixture.with { fixture in
            var links: [ActivationLink] = []
            for _ in 0..<8 { links.append(try await fixture.data.link()) }
            let statuses = try await withThrowingTaskGroup(of: (isRight: Bool, status: Int).self) { group in
                for number in 0..<4 {
                    group.addTask { (false, try await fixture.enroll(user: "ann", key: "wrong\(number)").status) }
                }
                for link in links { group.addTask { (true, try await fixture.enroll(link).status) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.filter(\.isRight).map(\.status) == Array(repeating: 200, count: 8))
            #expect(statuses.filter { !$0.isRight }.map(\.status).sorted() == [401, 429, 429, 429])
        }
    }

    @Test func aSourceIsToldHowLongToWait() async throws {
        try await ControlFixture.with { fixture in
            #expect(try await fixture.enroll(user: "ann", key: "wrong").status == 401)
            let slowed = try await fixture.enroll(user: "ann", key: "wrong")
            #expect(slowed.status == 429 && slowed.fields[.retryAfter] == "1")
            #expect(try slowed.failure().error.name == "limited")
            fixture.data.advance(1)
            #expect(try await fixture.enroll(user: "ann", key: "wrong").status == 401)
        }
    }

    @Test func aUsedAndAnExpiredKeyAreToldApart() async throws {
        try await ControlFixture.with { fixture in
            let (used, late) = (try await fixture.data.link(), try await fixture.data.link())
            #expect(try await fixture.enroll(used).status == 200)
            let second = try await fixture.enroll(used)
            #expect(try second.status == 403 && second.failure().error.name == "keyUsed")
            fixture.data.advance(24 * 3600)
            let third = try await fixture.enroll(late)
            #expect(try third.status == 403 && third.failure().error.name == "keyExpired")
            #expect(try third.failure().error.code == ResultCode.credentialsFailed.rawValue)
            // Right keys do not count as wrong tries.
            #expect(try await fixture.enroll(fixture.data.link()).status == 200)
            #expect(try await fixture.enroll(user: "ann", key: "wrong").status == 401)
        }
    }

    /// Only a request with the right key and the right user is told more than that they are wrong.
    @Test func anotherUsersRightKeyIsAWrongTry() async throws {
        try await ControlFixture.with { fixture in
            try await fixture.data.perform(.addUser("bob"))
            let link = try await fixture.data.link()
            let refused = try await fixture.enroll(user: "bob", key: link.accessKey.reveal())
            #expect(try refused.status == 401 && refused.failure().error.name == "unauthorized")
            #expect(try await fixture.enroll(link).status == 200)
            let used = try await fixture.enroll(user: "bob", key: link.accessKey.reveal())
            #expect(used.status == 429)
        }
    }
}
