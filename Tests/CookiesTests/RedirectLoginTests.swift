import HTTPTypes
import Logging
import SallyportBase
import SallyportCookies
import SallyportCore
import SallyportHTTPAuthentication
import SallyportLoading
import SallyportSecureStore
import SallyportURLLoading
import Testing

/// A redirect leads to a log-in by a challenge, and the log-in leads back to the page.
@Suite(.timeLimit(.minutes(1))) struct RedirectLoginTests {
    /// By what the site knows the user of a page.
    enum Sign { case cookie, credential, nothing }

    /// Sets its cookie with the challenge, and not again with the redirect behind it.
    private struct Site: LoadStage {
        let sign: Sign
        private let seen = Lock<[String]>([])

        init(_ sign: Sign) { self.sign = sign }

        var paths: [String] { seen.withLock { $0 } }

        func load(
            _ request: LoadRequest, in context: LoadContext, next: LoadChain
        ) async throws(LoadError) -> LoadResponse {
            seen.withLock { $0.append(request.url.path) }
            return LoadResponse(head: head(of: request), url: request.url, body: ResponseBody())
        }

        private func head(of request: LoadRequest) -> HTTPResponse {
            let fields = request.headerFields
            guard request.url.path == "/login" else {
                return knows(fields) ? HTTPResponse(status: .ok) : Self.redirect(to: "/login")
            }
            guard !fields.contains(.authorization) else { return Self.redirect(to: "/") }
            return HTTPResponse(
                status: .unauthorized,
                headerFields: [.wwwAuthenticate: "Basic realm=\"r\"", .setCookie: "id=1; Path=/"])
        }

        private func knows(_ fields: HTTPFields) -> Bool {
            switch sign {
            case .cookie: fields[.cookie] == "id=1"
            case .credential: fields.contains(.authorization)
            case .nothing: false
            }
        }

        private static func redirect(to location: String) -> HTTPResponse {
            HTTPResponse(status: .found, headerFields: [.location: location])
        }
    }

    private func load(_ site: Site) async throws -> HTTPResponse {
        let fixture = try await JarFixture()
        defer { fixture.store.close() }
        let stages: [any LoadStage] = [
            RedirectStage(), AuthenticationStage(credentials: CredentialStorage()),
            CookieStage(jar: fixture.jar()), site,
        ]
        var request = try LoadRequest.get("https://a.example/")
        request.options.credential = Credential(user: "ann", password: Redacted("secret"))
        let context = LoadContext(
            requestID: 1, logger: Logger(label: "test"), deadline: .now + .seconds(60), idleTimeout: .seconds(60),
            principal: .instance)
        return try await LoadChain(stages).load(request, in: context).head
    }

    @Test(arguments: [Sign.cookie, .credential]) func aLogInOnTheWayIsNoCircle(_ sign: Sign) async throws {
        let site = Site(sign)
        #expect(try await load(site).status == .ok)
        #expect(site.paths == ["/", "/login", "/login", "/"])
    }

    /// The credential is sent to the log-in unasked the second time, and the redirect from there ends the load.
    @Test func aLogInThatChangesNothingIsACircle() async throws {
        let site = Site(.nothing)
        await #expect(throws: LoadError(.tooManyRedirects, "")) { _ = try await load(site) }
        #expect(site.paths == ["/", "/login", "/login", "/", "/login"])
    }
}
