import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportURLLoading
import TestSupport
import Testing

/// What a session promises whatever a handler does.
@Suite(.timeLimit(.minutes(1))) struct WriterTests {
    private func session(_ handler: any ProtocolHandler.Type) -> SecureSession {
        var configuration = SessionConfiguration()
        configuration.protocolClasses = [handler]
        return URLLoadingSystem(gate: OpenGate()).makeSession(configuration)
    }

    @Test func aCallAfterTheEndHasNoEffect() async throws {
        let response = try await session(HandsOverItsWriter.self).bytes(for: .get("test:x"))
        let writer = try #require(HandsOverItsWriter.writer.withLock { $0.take() })
        var body: [UInt8] = []
        for try await chunk in response.body { body += chunk }
        #expect(body == [1])
        #expect(throws: LoadError(.handlerFailed, "")) { try writer.begin(HTTPResponse(status: .notFound)) }
        await #expect(throws: LoadError(.connectionLost, "")) { try await writer.write([2]) }
        #expect(response.head.status == .ok)
        #expect(try await response.body.next() == nil)
    }

    @Test func theCanonicalFormIsLoaded() async throws {
        let response = try await session(LoadsLowerCase.self).bytes(for: .get("test:ABC"))
        #expect(try await response.body.collect(upTo: .bytes(3)) == Array("abc".utf8))
        #expect("\(response.url)" == "test:abc")
    }
}

private struct HandsOverItsWriter: ProtocolHandler {
    static let writer = Lock<ResponseWriter?>(nil)
    static func canHandle(_ request: LoadRequest) -> Bool { request.url.scheme == "test" }

    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        Self.writer.withLock { $0 = response }
        try response.begin(HTTPResponse(status: .ok))
        try await response.write([1])
    }
}

private struct LoadsLowerCase: ProtocolHandler {
    static func canHandle(_ request: LoadRequest) -> Bool { request.url.scheme == "test" }

    static func canonicalForm(of request: LoadRequest) -> LoadRequest {
        var request = request
        request.url = (try? RequestURL("test:\(request.url.path.lowercased())")) ?? request.url
        return request
    }

    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        try response.begin(HTTPResponse(status: .ok))
        try await response.write(Array(request.url.path.utf8))
    }
}
