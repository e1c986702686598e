import Foundation
import FoundationNetworking
import Workloads

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
