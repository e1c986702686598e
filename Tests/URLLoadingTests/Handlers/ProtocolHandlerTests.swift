import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing

@testable import SallyportURLLoading

/// Serves `test:NAME` by name of behaviour.
private struct TestHandler: ProtocolHandler {
    static func canHandle(_ request: LoadRequest) -> Bool { request.url.scheme == "test" }

    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        struct Failure: Error {}
        switch request.url.path {
        case "text":
            try response.begin(HTTPResponse(status: .ok))
            for word in ["one", "two"] { try await response.write(Array(word.utf8)) }
        case "declines": throw RequestDeclined()
        case "declinesLate":
            try response.begin(HTTPResponse(status: .ok))
            throw RequestDeclined()
        case "fails": throw Failure()
        case "failsTyped": throw LoadError(.cannotConnect, "typed")
        case "failsLate":
            try response.begin(HTTPResponse(status: .ok))
            try await response.write([1])
            throw Failure()
        case "silent": return
        case "early": try await response.write([1])
        case "twice":
            try response.begin(HTTPResponse(status: .ok))
            try response.begin(HTTPResponse(status: .ok))
        case "endless":
            try response.begin(HTTPResponse(status: .ok))
            while true { try await response.write([UInt8](repeating: 1, count: 1 << 16)) }
        case "hangs": try await Task.sleep(for: .seconds(3600))
        default: try await SecureHTTPHandler().load(.get("http://inner.example/"), into: response)
        }
    }
}

private struct FirstHandler: ProtocolHandler {
    static func canHandle(_ request: LoadRequest) -> Bool { request.url.endpoint != nil }
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        try response.begin(HTTPResponse(status: .ok))
        try await response.write(Array("first".utf8))
    }
}

private struct SecondHandler: ProtocolHandler {
    static func canHandle(_ request: LoadRequest) -> Bool { request.url.endpoint != nil }
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        try response.begin(HTTPResponse(status: .ok))
        try await response.write(Array("second".utf8))
    }
}

/// Goes on until it may end, also if its load was cancelled.
private struct DeafHandler: RequestHandler {
    let mayEnd: Signal
    func canHandle(_ request: LoadRequest) -> Bool { request.url.scheme == "deaf" }
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws { await mayEnd.wait() }
}

@Suite(.timeLimit(.minutes(1))) struct ProtocolHandlerTests {
    private let fixture = Fixture()

    private func load(_ name: String) async throws -> String {
        fixture.loading.protocols.register(TestHandler.self)
        return try await fixture.loading.session.text("test:\(name)")
    }

    @Test func aHandlerAnswers() async throws { #expect(try await load("text") == "onetwo") }

    @Test func aHandlerMayUseTheSessionsOwn() async throws {
        #expect(try await load("inner") == "secure")
        #expect(fixture.client.urls == ["http://inner.example/"])
    }

    @Test(arguments: [
        ("fails", LoadError.Code.handlerFailed), ("failsTyped", .cannotConnect), ("failsLate", .handlerFailed),
        ("silent", .handlerFailed), ("early", .handlerFailed), ("twice", .handlerFailed),
        ("declinesLate", .handlerFailed), ("declines", .unsupportedScheme),
    ])
    func errorsAreMapped(_ name: String, _ code: LoadError.Code) async throws {
        await #expect(throws: LoadError(code, "")) { try await load(name) }
    }

    @Test func cancellationEndsAHandlerBeforeItsHead() async {
        let task = Task { try await load("hangs") }
        await Task.yield()
        task.cancel()
        await #expect(throws: LoadError(.cancelled, "")) { try await task.value }
    }

    @Test func discardingTheBodyEndsTheHandler() async throws {
        fixture.loading.protocols.register(TestHandler.self)
        let response = try await fixture.loading.session.bytes(for: .get("test:endless"))
        _ = try await response.body.next()
        response.body.discard()
        let loads = fixture.loading.session.engine.loads
        while loads.count > 0 { await Task.yield() }
    }

    @Test func withdrawalEndsAHandlerWithItsCode() async throws {
        fixture.loading.protocols.register(TestHandler.self)
        let task = Task { try await fixture.loading.session.text("test:hangs") }
        let loads = fixture.loading.session.engine.loads
        while loads.count == 0 { await Task.yield() }
        fixture.gate.withdraw(.wiped)
        await #expect(throws: LoadError(.withdrawn, "")) { try await task.value }
        await #expect(throws: LoadError(.withdrawn, "")) { try await fixture.loading.session.text("test:text") }
    }

    @Test func theResourceTimeoutEndsAHandler() async throws {
        var configuration = SessionConfiguration()
        configuration.resourceTimeout = .milliseconds(20)
        configuration.protocolClasses = [TestHandler.self]
        let session = fixture.loading.makeSession(configuration)
        await #expect(throws: LoadError(.resourceTimeout, "")) { try await session.text("test:hangs") }
    }

    @Test func theResourceTimeoutEndsALoadWhoseHandlerGoesOn() async throws {
        let mayEnd = Signal()
        var configuration = SessionConfiguration()
        configuration.resourceTimeout = .milliseconds(20)
        configuration.handlers = [DeafHandler(mayEnd: mayEnd)]
        let session = fixture.loading.makeSession(configuration)
        await #expect(throws: LoadError(.resourceTimeout, "")) { try await session.text("deaf:x") }
        mayEnd.fire()
    }

    @Test(arguments: [Duration.seconds(Int64.max), .milliseconds(Int64.max)])
    func aTimeoutMayBeAsLongAsADurationCanBe(_ timeout: Duration) async throws {
        var configuration = SessionConfiguration()
        configuration.resourceTimeout = timeout
        configuration.protocolClasses = [TestHandler.self]
        #expect(try await fixture.loading.makeSession(configuration).text("test:text") == "onetwo")
    }

    // MARK: Registration

    @Test func theLastRegisteredIsAskedFirst() async throws {
        let protocols = fixture.loading.protocols
        #expect(protocols.register(FirstHandler.self) == .secureSessions)
        #expect(try await fixture.loading.session.text("http://a.example/") == "first")
        protocols.register(SecondHandler.self)
        #expect(try await fixture.loading.session.text("http://a.example/") == "second")
        protocols.register(FirstHandler.self)
        #expect(try await fixture.loading.session.text("http://a.example/") == "first")
        protocols.unregister(FirstHandler.self)
        #expect(try await fixture.loading.session.text("http://a.example/") == "second")
        protocols.unregister(SecondHandler.self)
        #expect(try await fixture.loading.session.text("http://a.example/") == "secure")
    }

    @Test func handlersOfTheSessionComeBeforeRegisteredOnes() async throws {
        fixture.loading.protocols.register(FirstHandler.self)
        var configuration = SessionConfiguration()
        configuration.protocolClasses = [SecondHandler.self, FirstHandler.self]
        #expect(try await fixture.loading.makeSession(configuration).text("http://a.example/") == "second")
        configuration.protocolClasses = [SecureHTTPHandler.self, SecondHandler.self]
        #expect(try await fixture.loading.makeSession(configuration).text("http://a.example/") == "secure")
    }

    @Test func theSystemHandlerDoesNotGoRoundThePolicy() async throws {
        fixture.gate.route(by: RoutingTable(default: .deny))
        var configuration = SessionConfiguration()
        configuration.protocolClasses = [SystemHTTPHandler.self]
        let session = fixture.loading.makeSession(configuration)
        await #expect(throws: LoadError(.refusedByPolicy, "")) { try await session.text("http://a.example/") }
        #expect(fixture.systemClient.exchanges.isEmpty)
    }

    @Test func handlersRegisteredBeforeAuthorizationStayInTheSystemSession() async throws {
        let fixture = Fixture(denied: AccessDenied(.notAuthorized))
        #expect(fixture.loading.protocols.register(FirstHandler.self) == .systemSessionOnly)
        #expect(try await fixture.loading.shared.text("http://a.example/") == "first")
        fixture.gate.authorize()
        fixture.loading.enable()
        #expect(try await fixture.loading.session.text("http://a.example/") == "secure")
        #expect(fixture.loading.protocols.register(SecondHandler.self) == .secureSessions)
        #expect(try await fixture.loading.session.text("http://a.example/") == "second")
        fixture.loading.disable()
        #expect(try await fixture.loading.shared.text("http://a.example/") == "first")
    }

    @Test func switchingOnAgainPutsTheSecureHandlerFirst() async throws {
        fixture.loading.protocols.register(FirstHandler.self)
        fixture.loading.disable()
        fixture.loading.enable()
        #expect(try await fixture.loading.session.text("http://a.example/") == "secure")
    }

    @Test func switchingOffAndOnBeforeAuthorizationKeepsTheSecureHandler() async throws {
        let fixture = Fixture(denied: AccessDenied(.notAuthorized))
        fixture.loading.disable()
        fixture.loading.enable()
        fixture.gate.authorize()
        #expect(try await fixture.loading.session.text("http://a.example/") == "secure")
    }

    @Test func switchAndHandlerAgreeWhenTwoTasksTurnTheSwitch() async throws {
        let loading = fixture.loading
        for _ in 0..<2_000 {
            async let on: Void = loading.enable()
            async let off: Void = loading.disable()
            _ = await (on, off)
            #expect(loading.protocols.secureEntries.contains(.secureHTTP) == loading.engine.isEnabled)
        }
    }

    /// Invalidates its session when it is asked whether it takes a request, before it has the load.
    private struct InvalidatingHandler: RequestHandler {
        let session = Lock<SecureSession?>(nil)

        func canHandle(_ request: LoadRequest) -> Bool {
            session.withLock { $0 }?.invalidate()
            return true
        }

        func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
            try response.begin(HTTPResponse(status: .ok))
        }
    }

    @Test func aSessionThatEndsJustBeforeItsHandlerBeginsEndsTheLoad() async throws {
        let handler = InvalidatingHandler()
        var configuration = SessionConfiguration()
        configuration.handlers = [handler]
        let session = fixture.loading.makeSession(configuration)
        handler.session.withLock { $0 = session }
        await #expect(throws: LoadError(.sessionInvalidated, "")) { try await session.text("test:text") }
        handler.session.withLock { $0 = nil }
    }

    @Test func switchingOnAfterTheEndHasNoEffect() async throws {
        let fixture = Fixture()
        await fixture.loading.shutdown()
        fixture.loading.enable()
        await #expect(throws: LoadError(.sessionInvalidated, "")) {
            try await fixture.loading.session.text("http://a.example/")
        }
        #expect(fixture.client.exchanges.isEmpty)
    }
}
