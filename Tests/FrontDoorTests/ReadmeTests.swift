import Sallyport
import SallyportURLLoading
import Testing

/// The code in README.md and Docs. Code that needs a gateway is only compiled.
@Suite struct ReadmeTests {
    struct Profile: Codable, Equatable { var name: String }

    struct UnixSocketHandler: ProtocolHandler {
        static func canHandle(_ request: LoadRequest) -> Bool { request.url.scheme == "http+unix" }
        func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
            try response.begin(HTTPResponse(status: .ok))
        }
    }

    func firstUse() async throws {
        let sallyport = try await Sallyport.open(
            store: "/var/lib/report", protectedBy: .systemdCredential("sallyport"),
            application: .init("com.example.report", version: "1.0.0.0"))
        try await sallyport.authorize()
        let answer = try await sallyport.session.data(
            for: .get("https://reports.corp.example/today"), upTo: .mebibytes(4))
        print(answer.head.status, answer.body.count)
        for await event in sallyport.authorization.events { print(event) }
        sallyport.protocols.register(UnixSocketHandler.self)
    }

    func ownStore(_ path: String, _ key: String) async throws {
        let store = try await SecureStore.open(at: path, protectedBy: .keyFile(key))
        let profiles = store.collection("profiles", of: Profile.self)
        try await store.write { try $0.set(Profile(name: "Ann"), for: "ann", in: profiles) }
    }

    @Test func pluginsNameWhatTheyServe() throws {
        #expect(UnixSocketHandler.canHandle(try .get("http+unix://%2Frun%2Fdocker.sock/info")))
        #expect(!UnixSocketHandler.canHandle(try .get("https://a.example/")))
    }
}
