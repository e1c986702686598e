import HTTPTypes
import Logging
import SallyportBase
import SallyportCore
import SallyportHTTPAuthentication
import SallyportLoading
import Testing

/// Schemes that an app brings itself: the public API suffices.
@Suite(.timeLimit(.minutes(1)))
struct OwnSchemeTests {
    /// Tokens that an app keeps as passwords (RFC 6750): the example of `AuthenticationScheme`.
    private struct BearerScheme: AuthenticationScheme {
        let method = AuthenticationMethod("bearer")

        func takes(_ offered: OfferedScheme) -> Bool { offered.token68 == nil }

        func authorization(
            answering offered: OfferedScheme, with credential: Credential, for request: LoadRequest
        ) throws(LoadError) -> Redacted<String> {
            Redacted("Bearer \(credential.password.reveal())")
        }

        func scope(of url: RequestURL) -> String? { "/" }
    }

    /// Knows from a third party that each token is wrong.
    private struct RefusingScheme: AuthenticationScheme {
        let method = AuthenticationMethod("bearer")

        func takes(_ offered: OfferedScheme) -> Bool { true }

        func authorization(
            answering offered: OfferedScheme, with credential: Credential, for request: LoadRequest
        ) throws(LoadError) -> Redacted<String> {
            throw LoadError(.credentialRefused, at: .response, "The token is not known.")
        }

        func scope(of url: RequestURL) -> String? { "/" }
    }

    /// Answers a first challenge with what it proposes, as delegates usually do.
    private struct UsualResponder: ChallengeResponder {
        func respond(to challenge: AuthenticationChallenge) async -> ChallengeDisposition {
            guard challenge.previousFailureCount == 0, let proposed = challenge.proposedCredential else {
                return .performDefaultHandling
            }
            return .use(proposed)
        }
    }

    /// Counts the requests of a space, and sends the number with each.
    private struct CountingScheme: AuthenticationScheme {
        let method = AuthenticationMethod("count")

        func takes(_ offered: OfferedScheme) -> Bool { true }

        func makeSession(
            _ offered: OfferedScheme, in space: ProtectionSpace, of principal: Principal
        ) -> (any AuthenticationSession)? { Counter() }
    }

    private actor Counter: AuthenticationSession {
        private var count = 0
        private(set) var bindings = 0

        func challenged(by offered: OfferedScheme, over binding: ChannelBinding?) { bindings += 1 }

        func signature(
            for request: LoadRequest, to kind: ProtectionSpace.Kind, with credential: Credential,
            until deadline: ContinuousClock.Instant
        ) async throws(LoadError) -> any RequestSignature { Count(self) }

        func next() -> Int {
            count += 1
            return count
        }

        nonisolated func scopes(of url: RequestURL) -> [String] { ["/"] }
    }

    private actor Count: RequestSignature {
        private let counter: Counter
        private(set) var isMade = false

        init(_ counter: Counter) { self.counter = counter }

        func make() async -> Redacted<String>? {
            isMade = true
            return Redacted("Count \(await counter.next())")
        }

        nonisolated func isOutdated(by offered: OfferedScheme) -> Bool { false }

        nonisolated func accepted(by response: LoadResponse, wasAsked: Bool) throws(LoadError) -> LoadResponse {
            guard response.fieldsSentNow[.server] != "other" else {
                throw LoadError(.serverNotAuthenticated, at: .response, "another server")
            }
            return response
        }
    }

    /// Offers both schemes, and accepts a field that begins as it should.
    private final class Server: LoadStage {
        private let good: String
        private let name: String
        private let said = Lock<[String?]>([])

        init(taking good: String, named name: String = "own") { (self.good, self.name) = (good, name) }

        var seen: [String?] { said.withLock { $0 } }

        func load(
            _ request: LoadRequest, in context: LoadContext, next: LoadChain
        ) async throws(LoadError) -> LoadResponse {
            var fields = request.headerFields
            await context.signer?.sign(&fields)
            let field = fields[.authorization]
            said.withLock { $0.append(field) }
            var head = HTTPResponse(status: field?.hasPrefix(good) == true ? .ok : .unauthorized)
            head.headerFields[.server] = name
            if head.status == .unauthorized {
                for scheme in ["Bearer realm=\"r\"", "Count", "Basic realm=\"r\""] {
                    head.headerFields.append(HTTPField(name: .wwwAuthenticate, value: scheme))
                }
            }
            let response = LoadResponse(head: head, url: request.url, body: ResponseBody())
            return try await context.signer?.examined(response) ?? response
        }
    }

    private let storage = CredentialStorage()

    private func load(
        _ server: Server, _ schemes: [any AuthenticationScheme], password: String? = "t",
        asking responder: (any ChallengeResponder)? = nil
    ) async throws -> Int {
        let stage = AuthenticationStage(credentials: storage, schemes: schemes)
        var request = try LoadRequest.get("https://a.example/page")
        request.options.credential = password.map { Credential(user: "app", password: Redacted($0)) }
        let context = LoadContext(
            requestID: 1, logger: Logger(label: "test"), deadline: .now + .seconds(30), idleTimeout: .seconds(30),
            principal: .instance, responder: responder)
        return try await LoadChain([stage, server]).load(request, in: context).head.status.code
    }

    @Test func aSchemeThatSaysTheSameEachTimeIsAskedOnceAndThenSaidUnasked() async throws {
        let server = Server(taking: "Bearer t")
        #expect(try await load(server, [BearerScheme()]) == 200)
        #expect(try await load(server, [BearerScheme()], password: nil) == 200)
        #expect(server.seen == [nil, "Bearer t", "Bearer t"])
        await storage.clear(for: AuthenticationMethod("bearer"))
        #expect(try await load(server, [BearerScheme()], password: nil) == 401)
        #expect(server.seen == [nil, "Bearer t", "Bearer t", nil])
    }

    @Test func aSchemeWithSessionsProvesEachRequestByItself() async throws {
        let server = Server(taking: "Count ")
        for _ in 0..<3 { #expect(try await load(server, [CountingScheme()]) == 200) }
        #expect(server.seen == [nil, "Count 1", "Count 2", "Count 3"])
    }

    @Test func theServersOwnProofIsChecked() async throws {
        let server = Server(taking: "Count ", named: "other")
        let error = await #expect(throws: LoadError.self) { try await load(server, [CountingScheme()]) }
        #expect(error?.code == .serverNotAuthenticated)
    }

    /// The third party's answer can be forged, and must not bring the password to the server.
    @Test func aPasswordThatASchemeRefusesIsNotProposedForAnotherMethod() async throws {
        let server = Server(taking: "Basic ")
        let schemes: [any AuthenticationScheme] = [RefusingScheme(), BasicScheme()]
        #expect(try await load(server, schemes, asking: UsualResponder()) == 401)
        #expect(server.seen == [nil])
        #expect(try await load(server, [BasicScheme()], asking: UsualResponder()) == 200)
    }

    @Test func ofTwoSchemesTheServersOrderCounts() async throws {
        let server = Server(taking: "Bearer t")
        #expect(try await load(server, [CountingScheme(), BasicScheme(), BearerScheme()]) == 200)
        #expect(server.seen == [nil, "Bearer t"])
    }
}
