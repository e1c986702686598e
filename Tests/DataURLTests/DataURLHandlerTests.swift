import HTTPTypes
import SallyportCore
import SallyportDataURL
import SallyportLoading
import SallyportURLLoading
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct DataURLHandlerTests {
    private let loading = URLLoadingSystem(gate: OpenGate())

    init() { loading.protocols.register(DataURLHandler.self) }

    @Test func aSessionLoadsADataURL() async throws {
        let answer = try await loading.session.data(for: .get("data:text/html;base64,PGI+"))
        let (body, response) = (answer.body, answer.head)
        #expect(body == Array("<b>".utf8))
        #expect(response.status == .ok)
        #expect(response.headerFields[.contentType] == "text/html")
        #expect(response.headerFields[.contentLength] == "3")
    }

    @Test func aLongBodyComesWhole() async throws {
        let text = String(repeating: "0123456789", count: 6_000)
        let answer = try await loading.session.data(for: .get("data:,\(text)"))
        let (body, response) = (answer.body, answer.head)
        #expect(body == Array(text.utf8))
        #expect(response.headerFields[.contentLength] == "60000")
    }

    @Test func headHasTheFieldsOfGetAndNoBody() async throws {
        let request = try LoadRequest(.head, RequestURL("data:text/html,hello"))
        let answer = try await loading.session.data(for: request)
        let (body, response) = (answer.body, answer.head)
        #expect(body.isEmpty)
        #expect(response.headerFields[.contentType] == "text/html")
        #expect(response.headerFields[.contentLength] == "5")
    }

    @Test(arguments: [HTTPRequest.Method.post, .put, .delete, .options])
    func otherMethodsAreRefused(_ method: HTTPRequest.Method) async throws {
        let request = try LoadRequest(method, RequestURL("data:,x"))
        await #expect(throws: LoadError(.invalidRequest, "")) { try await loading.session.data(for: request) }
    }

    @Test func aBodyIsRefused() async throws {
        let request = try LoadRequest(.get, RequestURL("data:,x"), body: .text("y"))
        await #expect(throws: LoadError(.invalidRequest, "")) { try await loading.session.data(for: request) }
    }

    @Test func aMalformedURLIsATypedError() async throws {
        await #expect(throws: LoadError(.invalidRequest, "")) {
            try await loading.session.data(for: .get("data:text/plain"))
        }
    }

    @Test func otherSchemesAreLeftToOthers() async throws {
        await #expect(throws: LoadError(.unsupportedScheme, "")) {
            try await loading.session.data(for: .get("blob:text/plain,x"))
        }
    }
}
