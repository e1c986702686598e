import FoundationEssentials
import HTTPTypes
import Logging
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportSecureStore
import SessionTestSupport
import TestSupport
import Testing

@testable import SallyportCache

/// What a test's server answers.
struct Answer: Sendable {
    var status = 200
    var fields: [(String, String)] = []
    /// The number of the request where nil, so that a body tells whether it was sent anew.
    var body: [UInt8]?
    /// Ends the body in place of its proper end.
    var failure: LoadError?
    /// Whether the app's own trust decision allowed the connection.
    var isForThisLoadOnly = false
    /// The route by which it comes; the gate's present one if nil.
    var route: Route?
    var chunk = 16 << 10

    init(_ status: Int = 200, _ fields: KeyValuePairs<String, String> = [:], body: [UInt8]? = nil) {
        self.status = status
        self.fields = fields.map { ($0.key, $0.value) }
        self.body = body
    }

    static func fresh(_ seconds: Int = 60) -> Answer { Answer(200, ["Cache-Control": "max-age=\(seconds)"]) }
}

/// A server under a cache whose clock the test turns.
final class Site: Sendable {
    let folder: TemporaryDirectory
    let gate = SiteGate()
    private let opened: TestStore
    var store: SecureStore { opened.store }
    let cache: SecureCache
    let clock: SiteClock
    let server: SiteServer

    convenience init(_ answer: Answer) async throws { try await self.init { _, _ in answer } }

    init(
        in folder: TemporaryDirectory? = nil, patience: Flight.Patience = Flight.Patience(),
        _ answer: @escaping @Sendable (LoadRequest, Int) async throws(LoadError) -> Answer
    ) async throws {
        let folder = try folder ?? TemporaryDirectory()
        let clock = SiteClock()
        self.folder = folder
        self.clock = clock
        server = SiteServer(gate: gate, answer)
        opened = try await TestStore(in: folder)
        cache = SecureCache(store: opened.store, gate: gate, patience: patience, now: { clock.now })
    }

    /// Loads, reads the body, and waits until what is stored of it is stored.
    func get(
        _ path: String = "/", _ fields: KeyValuePairs<String, String> = [:], method: HTTPRequest.Method = .get,
        policy: CachePolicy? = nil, principal: Principal = .instance, trust: TrustScopes = .unnamed
    ) async throws -> String {
        try await load(path, fields, method: method, policy: policy, principal: principal, trust: trust).body
    }

    func load(
        _ path: String = "/", _ fields: KeyValuePairs<String, String> = [:], method: HTTPRequest.Method = .get,
        policy: CachePolicy? = nil, principal: Principal = .instance, trust: TrustScopes = .unnamed
    ) async throws -> (head: HTTPResponse, body: String) {
        let request = try request(path, fields, method: method, policy: policy)
        let response = try await response(to: request, principal, under: trust)
        let body = try await response.body.collect(upTo: .mebibytes(64))
        await cache.settle()
        return (response.head, String(decoding: body, as: UTF8.self))
    }

    func request(
        _ path: String = "/", _ fields: KeyValuePairs<String, String> = [:], method: HTTPRequest.Method = .get,
        policy: CachePolicy? = nil
    ) throws -> LoadRequest {
        let url = path.hasPrefix("/") ? "https://a.example\(path)" : path
        var request = LoadRequest(method, try RequestURL(url))
        for (name, value) in fields {
            request.headerFields.append(HTTPField(name: .custom(name), value: value))
        }
        if let policy { request.options.cachePolicy = policy }
        return request
    }

    func response(
        to request: LoadRequest, _ principal: Principal = .instance, signedBy signer: (any RequestSigner)? = nil,
        under trust: TrustScopes = .unnamed
    ) async throws(LoadError) -> LoadResponse {
        let stage = CacheStage(cache: cache, gate: gate)
        var context = LoadContext.of(principal)
        context.signer = signer
        context.trust = trust
        return try await LoadChain([stage, server]).load(request, in: context)
    }

    /// What the stage's explanation says that the cache would do.
    func explained(method: HTTPRequest.Method = .get, policy: CachePolicy? = nil) async throws -> [String] {
        var request = try request(method: method, policy: policy)
        var explanation = LoadExplanation(request)
        let stage = CacheStage(cache: cache, gate: gate)
        await stage.explain(&request, in: .of(.instance), into: &explanation)
        return explanation.decisions.map(\.value)
    }

    /// How many requests the server has seen.
    var count: Int { server.requests.count }
    var last: LoadRequest { get throws { try #require(server.requests.last) } }
}

final class SiteClock: Sendable {
    private let state = Lock(Int64(1_800_000_000_000))

    var now: CacheTime { CacheTime(milliseconds: state.withLock { $0 }) }
    func pass(_ seconds: Int64) { state.withLock { $0 += seconds * 1000 } }

    /// As a field has it.
    func date(_ offset: Int64 = 0) -> String {
        let seconds = now.milliseconds / 1000 + offset
        let formatter = Date(timeIntervalSince1970: Double(seconds))
        return HTTPDateText.text(formatter)
    }
}

enum HTTPDateText {
    static func text(_ date: Date) -> String {
        let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let parts = Calendar.gregorian.dateComponents(
            [.year, .month, .day, .hour, .minute, .second], from: date)
        let day = days[(Int(date.timeIntervalSince1970) / 86_400) % 7]
        func two(_ number: Int?) -> String { String("0\(number ?? 0)".suffix(2)) }
        return "\(day), \(two(parts.day)) \(months[(parts.month ?? 1) - 1]) \(parts.year ?? 0) "
            + "\(two(parts.hour)):\(two(parts.minute)):\(two(parts.second)) GMT"
    }
}

extension Calendar {
    fileprivate static let gregorian: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar
    }()
}

/// The last stage: answers by a script.
final class SiteServer: LoadStage {
    private let gate: SiteGate
    private let answer: @Sendable (LoadRequest, Int) async throws(LoadError) -> Answer
    private let seen = Lock<[LoadRequest]>([])

    init(gate: SiteGate, _ answer: @escaping @Sendable (LoadRequest, Int) async throws(LoadError) -> Answer) {
        self.gate = gate
        self.answer = answer
    }

    var requests: [LoadRequest] { seen.withLock { $0 } }

    func load(
        _ request: LoadRequest, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        let access: ServerAccess
        do throws(AccessDenied) { access = try gate.access(to: request.url.endpoint) } catch {
            throw LoadError(error)
        }
        let number = seen.withLock { seen in
            seen.append(request)
            return seen.count
        }
        let answer = try await answer(request, number)
        var head = HTTPResponse(status: .init(code: answer.status))
        for (name, value) in answer.fields {
            head.headerFields.append(HTTPField(name: .custom(name), value: value))
        }
        let isEmpty = request.method == .head || [204, 304].contains(answer.status)
        let body = isEmpty ? [] : answer.body ?? Array("\(number)".utf8)
        var response = LoadResponse(
            head: head, url: request.url, body: ResponseBody(SiteBody(body, answer.chunk, answer.failure)))
        response.facts.decision =
            answer.route.map { RouteDecision(endpoint: access.decision.endpoint, route: $0, rule: .default) }
            ?? access.decision
        response.facts.isForThisLoadOnly = answer.isForThisLoadOnly
        return response
    }
}

/// A body in chunks.
final class SiteBody: BodySource {
    private let rest: Lock<[UInt8]>
    private let chunk: Int
    private let failure: LoadError?

    init(_ bytes: [UInt8], _ chunk: Int, _ failure: LoadError?) {
        rest = Lock(bytes)
        self.chunk = chunk
        self.failure = failure
    }

    func next() async throws(LoadError) -> [UInt8]? {
        let bytes = rest.withLock { rest in
            let bytes = Array(rest.prefix(chunk))
            rest.removeFirst(bytes.count)
            return bytes
        }
        if bytes.isEmpty, let failure { throw failure }
        return bytes.isEmpty ? nil : bytes
    }

    func discard() { rest.withLock { $0 = [] } }
}

/// A gate that a test turns.
final class SiteGate: AccessGate {
    private let state = Lock<(route: Route, denied: AccessDenied?)>((.direct, nil))

    func route(_ route: Route) { state.withLock { $0.route = route } }
    func deny(_ denied: AccessDenied?) { state.withLock { $0.denied = denied } }

    func access(to endpoint: Endpoint?) throws(AccessDenied) -> ServerAccess {
        guard let endpoint else { throw AccessDenied(.notAuthorized) }
        return try access(to: endpoint)
    }

    func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
        let (route, denied) = state.withLock { $0 }
        if let denied { throw denied }
        let decision = RouteDecision(endpoint: endpoint, route: route, rule: .default)
        if route == .deny { throw AccessDenied(.denied(decision)) }
        return ServerAccess(decision: decision, relay: nil)
    }

    func checkAuthorized() throws(AccessDenied) {
        if let denied = state.withLock({ $0.denied }) { throw denied }
    }

    func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
        AccessObservation()
    }
}

extension LoadContext {
    static func of(_ principal: Principal) -> LoadContext {
        LoadContext(
            requestID: 1, logger: Logger(label: "test"), deadline: .now + .seconds(20), idleTimeout: .seconds(20),
            principal: principal)
    }
}

extension HTTPField.Name {
    static func custom(_ text: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is a field name.") }
        return name
    }
}

extension SecureCache {
    /// That of a cache which lies in a store.
    var entryStorage: EntryStorage {
        guard let storage else { preconditionFailure("The cache lies in a store.") }
        return storage
    }
}
