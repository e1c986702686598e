import Foundation
import HTTPTypes
import Logging
import SallyportCookies
import SallyportCore
import SallyportLoading
import SallyportSecureStore
import Synchronization

/// A jar of cookies: sites with two each, one for all of the site and one for a host; 10,000 of 5,000 unless said
/// otherwise.
package enum Cookies {
    package static let sites = 5000

    package static func host(_ number: Int) -> String { "www.site\(number).example" }
    package static func url(_ number: Int) -> String { "https://\(host(number))/reports/today" }

    package static let value = String(repeating: "v", count: 40)
    package static let expiry = Date().addingTimeInterval(86_400 * 30)

    package static func fill(_ directory: String, sites: Int = sites) async throws -> SecureStore {
        let store = try await SecureStore.open(at: "\(directory)/store", protectedBy: .keyFile("\(directory)/key"))
        try await CookieJar(in: store).set(try all(sites))
        return store
    }

    package static func all(_ sites: Int = sites) throws -> [SallyportCookies.Cookie] {
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
package struct CookieStagePeer {
    private struct Answer: LoadStage {
        func load(
            _ request: LoadRequest, in context: LoadContext, next: LoadChain
        ) async throws(LoadError) -> LoadResponse {
            Counter.fields.add(request.headerFields.count, ordering: .relaxed)
            return LoadResponse(head: HTTPResponse(status: .ok), url: request.url, body: ResponseBody())
        }
    }

    package let with: LoadChain
    package let without = LoadChain([Answer()])
    package let requests: [LoadRequest]
    package let elsewhere: LoadRequest
    package let context = LoadContext(
        requestID: 1, logger: Logger(label: "bench"), deadline: .now + .seconds(3600), idleTimeout: .seconds(60),
        principal: .instance)

    package init(_ jar: CookieJar, sites: Int = Cookies.sites) throws {
        with = LoadChain([CookieStage(jar: jar), Answer()])
        requests = try (0..<sites).map { try .get(Cookies.url($0)) }
        elsewhere = try .get("https://www.nowhere.example/reports/today")
    }

    package func run(_ chain: LoadChain, _ count: Int) async throws {
        for index in 0..<count { _ = try await chain.load(requests[index % requests.count], in: context) }
    }

    package func runElsewhere(_ chain: LoadChain, _ count: Int) async throws {
        for _ in 0..<count { _ = try await chain.load(elsewhere, in: context) }
    }
}

/// So that nothing is optimised away.
package enum Counter {
    package static let fields = Atomic(0)
}
