import Foundation
import FoundationNetworking
import HTTPTypes
import SallyportCore
import SallyportLoading
import SallyportURLLoading
import TestSupport
import Testing

@testable import SallyportFoundationBridge

/// Which session a native one loads through: its own, and no other way.
@Suite(.timeLimit(.minutes(2))) struct BindingTests {
    @Test(arguments: 0..<200) func numbersAreTypes(number: Int) {
        #expect(BindingNumbers.typed(number).value == number)
    }

    @Test func tenantsNeverShareASession() async throws {
        let server = try RecordingServer(body: "ok")
        let (one, other) = (Tenant(), Tenant())
        let (first, second) = (one.native(), other.native())
        other.gate.close()
        let url = try server.url("/x?query=planted")
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<100 {
                group.addTask {
                    if number.isMultiple(of: 2) { return try await status(first.data(from: url).1) == 200 }
                    let error = try await failure { _ = try await second.data(from: url) }
                    #expect(!"\(error) \(error.userInfo)".contains("planted"))
                    return error.code == .dataNotAllowed && error.loadError?.code == .refusedByPolicy
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
        #expect(one.gate.asked == 50 && other.gate.asked == 50)
        #expect(server.seen.count == 50)
    }

    /// Whatever an app does to the configuration, nothing goes past the session.
    @Test func noChangeOfTheClassesLetsATaskGoDirect() async throws {
        let server = try RecordingServer(body: "ok")
        let tenant = Tenant()
        tenant.gate.close()
        let url = try server.url()
        let changes: [(URLSessionConfiguration) -> Void] = [
            { $0.protocolClasses = nil },
            { $0.protocolClasses = [] },
            { $0.protocolClasses = URLSessionConfiguration.default.protocolClasses },
            {
                $0.protocolClasses =
                    (URLSessionConfiguration.default.protocolClasses ?? []) + ($0.protocolClasses ?? [])
            },
            {
                $0.urlCredentialStorage = .shared; $0.urlCache = .shared
            },
        ]
        for change in changes {
            let error = try await failure {
                _ = try await tenant.native(SessionConfiguration(), change).data(from: url)
            }
            #expect(error.code == .dataNotAllowed)
        }
        #expect(server.seen.isEmpty && tenant.gate.asked == changes.count)
    }

    @Test func handlersOfTheAppStandInFront() async throws {
        let tenant = Tenant()
        let session = tenant.native { $0.protocolClasses = [Canned.self] + ($0.protocolClasses ?? []) }
        let canned = try #require(URL(string: "http://canned.example/"))
        #expect(try await session.data(from: canned).0 == Data("canned".utf8))
        #expect(tenant.gate.asked == 0)
    }

    @Test func theNativeSessionKeepsItsOwn() async throws {
        let server = try RecordingServer(body: "ok")
        let url = try server.url()
        weak var kept: SecureSession?
        let leftOver: URLSessionConfiguration
        do {
            let tenant = Tenant()
            let session = {
                let secure = tenant.loading.makeSession()
                kept = secure
                return URLSession(configuration: secure.foundationConfiguration())
            }()
            #expect(kept != nil)
            #expect(try await status(session.data(from: url).1) == 200)
            // Its class alone, without the configuration that keeps the session.
            leftOver = .default
            leftOver.protocolClasses = session.configuration.protocolClasses
            session.invalidateAndCancel()
        }
        #expect(try await eventually { kept == nil })
        let error = try await failure { _ = try await URLSession(configuration: leftOver).data(from: url) }
        #expect(error.code == .resourceUnavailable && error.loadError?.code == .sessionInvalidated)
        #expect(server.seen.count == 1)
    }

    @Test func aSessionHasOneClass() {
        let tenant = Tenant()
        let session = tenant.loading.makeSession()
        let one = session.foundationConfiguration()
        let two = session.foundationConfiguration()
        let other = tenant.loading.makeSession().foundationConfiguration()
        #expect(one.protocolClasses?.last == two.protocolClasses?.last)
        #expect(one.protocolClasses?.last != other.protocolClasses?.last)
        #expect(one.protocolClasses?.count == 1)
    }

    @Test func theSystemSessionIsNotBridged() async throws {
        let server = try RecordingServer(body: "ok")
        let url = try server.url()
        let tenant = Tenant()
        tenant.loading.disable()
        let system = tenant.loading.shared
        let error = try await failure {
            _ = try await URLSession(configuration: system.foundationConfiguration()).data(from: url)
        }
        #expect(error.loadError?.code == .notAuthorized && server.seen.isEmpty)
    }

    @Test func pluginsOfTheSessionServeNativeTasks() async throws {
        var secure = SessionConfiguration()
        secure.protocolClasses = [Echo.self]
        let session = Tenant().native(secure)
        let url = try #require(URL(string: "echo:hello"))
        #expect(try await session.data(from: url).0 == Data("echo:hello".utf8))
        let unknown = try #require(URL(string: "ftp://127.0.0.1/x"))
        let error = try await failure { _ = try await session.data(from: unknown) }
        #expect(error.code == .unsupportedURL)
    }
}

private final class Canned: URLProtocol {
    override class func canInit(with request: URLRequest) -> Bool { request.url?.host == "canned.example" }
    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
    override func startLoading() {
        guard let url = request.url,
            let head = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil)
        else { return }
        client?.urlProtocol(self, didReceive: head, cacheStoragePolicy: .notAllowed)
        client?.urlProtocol(self, didLoad: Data("canned".utf8))
        client?.urlProtocolDidFinishLoading(self)
    }
    override func stopLoading() {}
}

private struct Echo: ProtocolHandler {
    static func canHandle(_ request: LoadRequest) -> Bool { request.url.scheme == "echo" }
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
        try response.begin(.init(status: .ok))
        try await response.write(Array("\(request.url)".utf8))
    }
}
