import Foundation
import HTTPTypes
import Logging
import SallyportBase
import SallyportCore
import SessionTestSupport
import Synchronization
import TestSupport

@testable import SallyportCookies
@testable import SallyportSecureStore

extension CookieRequest {
    static func to(_ url: String, from document: String? = nil) throws -> CookieRequest {
        guard let request = CookieRequest(try RequestURL(url), mainDocument: try document.map { try RequestURL($0) })
        else { throw Unexpected("no host in \(url)") }
        return request
    }
}

/// A table with a clock of its own, told what servers say.
struct TestJar {
    var table = CookieTable()
    /// Milliseconds; 2023-11-14T22:13:20Z.
    var now: Int64 = 1_700_000_000_000
    var effects: [CookieTable.Effect] = []
    var principal = Principal.instance

    /// The refusal, or nil where the cookie was taken.
    @discardableResult
    mutating func set(_ field: String, by url: String, from document: String? = nil) throws -> CookieRefusal? {
        try set(Array(field.utf8), by: url, from: document)
    }

    mutating func set(_ field: [UInt8], by url: String, from document: String? = nil) throws -> CookieRefusal? {
        let request = try CookieRequest.to(url, from: document)
        do throws(CookieRefusal) {
            let cookie = try CookieRules().cookie(from: SetCookie(field), for: request, at: now)
            try table.set(cookie, of: principal, isSecure: request.isSecure, at: now, &effects)
            return nil
        } catch {
            return error
        }
    }

    mutating func sent(to url: String, from document: String? = nil) throws -> String? {
        let request = try CookieRequest.to(url, from: document)
        let now = now
        return table.field(for: request, of: principal, now: { now }, &effects).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    /// What goes back to the URL that set the cookies.
    static func echo(_ fields: String..., at url: String = "https://www.example.com/dir/page") throws -> String? {
        var jar = TestJar()
        for field in fields { try jar.set(field, by: url) }
        return try jar.sent(to: url)
    }
}

/// A store in a directory of its own, and jars in it.
final class JarFixture: Sendable {
    let folder: TemporaryDirectory
    private let opened: TestStore
    var store: SecureStore { opened.store }
    private let time = Atomic(Int64(1_700_000_000_000))

    init(in folder: TemporaryDirectory? = nil) async throws {
        let folder = try folder ?? TemporaryDirectory()
        self.folder = folder
        opened = try await TestStore(in: folder)
    }

    func advance(by milliseconds: Int64) { time.add(milliseconds, ordering: .relaxed) }

    func jar(
        _ name: String? = nil, gate: (any AccessGate)? = nil, delay: Duration = .milliseconds(100),
        limits: (Int, Int) = (CookieJar.maximumPerDomain, CookieJar.maximumCount)
    ) -> CookieJar {
        CookieJar(
            name: name, in: store, gate: gate, logger: .init(label: "test"), limits: limits, delay: delay,
            clock: { [self] in time.load(ordering: .relaxed) })
    }
}

extension CookieJar {
    /// As a server that answers a request for the URL.
    @discardableResult
    func take(_ fields: String..., at url: String, of principal: Principal = .instance) async throws -> Int {
        try await load()
        return receive(fields.map { Array($0.utf8) }, for: try .to(url), of: principal)
    }

    func sent(to url: String, of principal: Principal = .instance) async throws -> String? {
        try await load()
        guard case .bytes(let field) = field(for: try .to(url), of: principal) else { return nil }
        return String(decoding: field, as: UTF8.self)
    }
}
