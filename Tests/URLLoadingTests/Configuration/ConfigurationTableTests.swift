import Foundation
import HTTPTypes
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportURLLoading

/// Every setting of a session, observed by a real server: directly and through a relay.
@Suite(.timeLimit(.minutes(1)))
struct ConfigurationTableTests {
    @Test(arguments: Way.allCases)
    func additionalHeadersReachTheServer(_ way: Way) async throws {
        let routes = try Routes(way)
        let session = try routes.session {
            $0.additionalHeaders = [.userAgent: "report/1", .acceptLanguage: "de"]
        }
        var request = try routes.site.request()
        request.headerFields[.acceptLanguage] = "fr"
        #expect(await session.failure(request) == nil)
        let head = try #require(routes.site.seen.heads.first).lowercased()
        #expect(head.contains("user-agent: report/1\r\n") && head.contains("accept-language: fr\r\n"))
        #expect(!head.contains("accept-language: de"))
        #expect(routes.relayedConnections == (way == .relayed ? 1 : 0))
    }

    /// `timeoutIntervalForRequest`.
    @Test(arguments: Way.allCases)
    func theIdleTimeoutEndsASilentLoad(_ way: Way) async throws {
        let routes = try Routes(way)
        routes.site.answer { _ in Thread.sleep(forTimeInterval: 10) }
        let session = try routes.session { $0.idleTimeout = .seconds(2) }
        #expect(await session.failure(try routes.site.request())?.code == .idleTimeout)
    }

    /// `timeoutIntervalForResource`: a body that keeps coming does not put it off.
    @Test(arguments: Way.allCases)
    func theResourceTimeoutEndsASlowLoad(_ way: Way) async throws {
        let routes = try Routes(way)
        routes.site.answer { client in
            client.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            for _ in 0..<100 where client.write("a") { Thread.sleep(forTimeInterval: 0.05) }
        }
        let session = try routes.session {
            $0.idleTimeout = .seconds(20)
            $0.resourceTimeout = .milliseconds(500)
        }
        #expect(await session.failure(try routes.site.request())?.code == .resourceTimeout)
    }

    /// `TLSMinimumSupportedProtocol` and `TLSMaximumSupportedProtocol`.
    @Test(arguments: Way.allCases)
    func theBoundsOfTLSHold(_ way: Way) async throws {
        let routes = try Routes(way)
        routes.site.change { $0.version = .tls12 }
        let least13 = try routes.session { $0.minimumTLSVersion = .tls13 }
        #expect(await least13.failure(try routes.site.request())?.code == .noCommonTLSVersion)
        let most12 = try routes.session { $0.maximumTLSVersion = .tls12 }
        #expect(await most12.failure(try routes.site.request()) == nil)
        routes.site.change { $0.version = .tls13 }
        routes.site.server.closeConnections()
        #expect(await most12.failure(try routes.site.request())?.code == .noCommonTLSVersion)
        #expect(await (try routes.session()).failure(try routes.site.request()) == nil)
    }

    @Test(arguments: Way.allCases)
    func aMinimumBelowTheStandardReachesAnOldServer(_ way: Way) async throws {
        let routes = try Routes(way)
        routes.site.change { $0.version = .tls11 }
        let session = try routes.session { $0.minimumTLSVersion = .tls11 }
        #expect(await session.failure(try routes.site.request()) == nil)
        #expect(await (try routes.session()).failure(try routes.site.request())?.code == .noCommonTLSVersion)
    }

    @Test(arguments: Way.allCases)
    func protocolClassesGoBeforeTheSecureHandler(_ way: Way) async throws {
        let routes = try Routes(way)
        let own = try routes.session { $0.protocolClasses = [Answering.self] }
        let body = try await own.data(for: routes.site.request()).body
        #expect(String(decoding: body, as: UTF8.self) == "own")
        let second = try routes.session { $0.protocolClasses = [SecureHTTPHandler.self, Answering.self] }
        let answer = try await second.data(for: routes.site.request()).body
        #expect(String(decoding: answer, as: UTF8.self) == "ok")
        #expect(routes.site.seen.heads.count == 1)
    }

    /// `HTTPMaximumConnectionsPerHost`.
    @Test(arguments: Way.allCases)
    func connectionsPerOriginAreCounted(_ way: Way) async throws {
        let routes = try Routes(way)
        let session = try routes.session { $0.connectionsPerOrigin = 2 }
        let request = try routes.site.request()
        await withTaskGroup(of: LoadError?.self) { group in
            for _ in 0..<10 { group.addTask { await session.failure(request) } }
            for await failure in group { #expect(failure == nil) }
        }
        #expect(routes.site.seen.heads.count == 10)
        // Two at once; those that found out the server's protocol give way to others after eight exchanges.
        #expect((1...4).contains(routes.site.seen.handshakes))
    }

    @Test func aBackgroundConfigurationIsRefused() {
        #expect(throws: LoadError(.backgroundUnsupported, "")) {
            try SessionConfiguration.background(withIdentifier: "a")
        }
    }

    /// What is assumed or ignored has no property: it cannot be set otherwise. The properties that there are stand in
    /// the guide's table, each with what shows it.
    @Test func everyPropertyStandsInTheGuidesTable() throws {
        let properties = Mirror(reflecting: SessionConfiguration()).children.compactMap(\.label)
        let guide = try String(
            contentsOf: Programs.repository.appending(path: "Docs/URLLoading.md"), encoding: .utf8)
        for property in properties { #expect(guide.contains("`\(property)`"), "\(property)") }
        let absent = [
            "networkServiceType", "allowsCellularAccess", "sharedContainerIdentifier", "httpCookieStorage",
            "urlCredentialStorage", "sessionSendsLaunchEvents", "isDiscretionary", "httpShouldUsePipelining",
            "multipathServiceType",
        ]
        for name in absent { #expect(!properties.contains(name)) }
    }

    private struct Answering: ProtocolHandler {
        static func canHandle(_ request: LoadRequest) -> Bool { request.url.scheme == "https" }
        func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
            try response.begin(HTTPResponse(status: .ok))
            try await response.write(Array("own".utf8))
        }
    }
}
