import Foundation
import FoundationNetworking
import HTTPTypes
import Logging
import SallyportCookies
import SallyportCore
import SallyportLoading
import SallyportSecureStore
import Synchronization

/// A jar of 10,000 cookies: 5,000 sites with two each, one for all of the site and one for a host.
enum Cookies {
    static let sites = 5000

    static func host(_ number: Int) -> String { "www.site\(number).example" }
    static func url(_ number: Int) -> String { "https://\(host(number))/reports/today" }

    static let value = String(repeating: "v", count: 40)
    static let expiry = Date().addingTimeInterval(86_400 * 30)

    static func all() throws -> [SallyportCookies.Cookie] {
        try (0..<sites).flatMap { number in
            [
                try Cookie(
                    name: "session", value: value, domain: "site\(number).example", includesSubdomains: true,
                    expires: expiry, isSecure: true),
                try Cookie(
                    name: "theme", value: value, domain: host(number), path: "/reports", expires: expiry, isSecure: true
                ),
            ]
        }
    }
}

/// The whole stage, above one that answers at once: what a load pays for cookies.
struct StagePeer {
    private struct Answer: LoadStage {
        func load(
            _ request: LoadRequest, in context: LoadContext, next: LoadChain
        ) async throws(LoadError) -> LoadResponse {
            Counter.fields.add(request.headerFields.count, ordering: .relaxed)
            return LoadResponse(head: HTTPResponse(status: .ok), url: request.url, body: ResponseBody())
        }
    }

    let with: LoadChain
    let without = LoadChain([Answer()])
    let requests: [LoadRequest]
    let elsewhere: LoadRequest
    let context = LoadContext(
        requestID: 1, logger: Logger(label: "bench"), deadline: .now + .seconds(3600), idleTimeout: .seconds(60),
        principal: .instance)

    init(_ jar: CookieJar) throws {
        with = LoadChain([CookieStage(jar: jar), Answer()])
        requests = try (0..<Cookies.sites).map { try .get(Cookies.url($0)) }
        elsewhere = try .get("https://www.nowhere.example/reports/today")
    }

    func run(_ chain: LoadChain, _ count: Int) async throws {
        for index in 0..<count { _ = try await chain.load(requests[index % requests.count], in: context) }
    }

    func runElsewhere(_ chain: LoadChain, _ count: Int) async throws {
        for _ in 0..<count { _ = try await chain.load(elsewhere, in: context) }
    }
}

/// So that nothing is optimised away.
enum Counter {
    static let fields = Atomic(0)
}

/// Foundation's, in memory only: a stored one is rewritten as a whole for each cookie.
struct FoundationPeer {
    let storage: HTTPCookieStorage
    let urls: [URL]

    init() throws {
        guard let storage = URLSessionConfiguration.ephemeral.httpCookieStorage else { fatalError("No storage.") }
        self.storage = storage
        urls = (0..<Cookies.sites).compactMap { URL(string: Cookies.url($0)) }
        for number in 0..<Cookies.sites {
            for (name, domain, path) in [
                ("session", ".site\(number).example", "/"), ("theme", Cookies.host(number), "/reports"),
            ] {
                let cookie = HTTPCookie(properties: [
                    .name: name, .value: Cookies.value, .domain: domain, .path: path, .expires: Cookies.expiry,
                    .secure: "TRUE",
                ])
                if let cookie { storage.setCookie(cookie) }
            }
        }
    }

    func run(_ count: Int) {
        for index in 0..<count {
            let found = storage.cookies(for: urls[index % urls.count]) ?? []
            Counter.fields.add(HTTPCookie.requestHeaderFields(with: found).count, ordering: .relaxed)
        }
    }
}
