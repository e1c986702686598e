package import HTTPTypes
internal import SallyportBase
public import SallyportCore

/// The stages below a stage.
public struct LoadChain: Sendable {
    private let stages: [any LoadStage]
    private let position: Int

    /// - Parameter stages: from the top down; the last one sends the request.
    public init(_ stages: [any LoadStage]) {
        self.stages = stages
        position = 0
    }

    private init(stages: [any LoadStage], position: Int) {
        self.stages = stages
        self.position = position
    }

    /// Calls the next stage that does not pass the request. The answer then goes to those of the passed stages that
    /// want to see it, from the bottom up.
    public func load(_ request: LoadRequest, in context: LoadContext) async throws(LoadError) -> LoadResponse {
        try await load(after: descent(of: request, in: context), in: context)
    }

    /// Shows a request to the stages as far as they pass it. Waits for nothing.
    package func descent(of request: LoadRequest, in context: LoadContext) -> Descent {
        var descent = Descent(request, stages: max(0, stages.count - position - 1))
        for place in position..<stages.count {
            let passage = stages[place].passage(of: descent.request, in: context)
            guard passage.isPassed else { break }
            descent.pass(consume passage)
        }
        return consume descent
    }

    /// Whether all stages but the last one have passed a request.
    package func reachesLast(_ descent: Descent) -> Bool { position + descent.count == stages.count - 1 }

    /// Calls the stage at which a descent ended.
    @inline(__always)
    package func load(after descent: Descent, in context: LoadContext) async throws(LoadError) -> LoadResponse {
        let running = position + descent.count
        guard running < stages.count else {
            throw LoadError(.internalFailure, "The last stage of a chain answers; it has no next one.")
        }
        var response = try await stages[running].load(descent.request, in: context, next: rest(below: running))
        guard descent.isWanted(&response) else { return response }
        return try await ascend(with: response, after: descent, in: context)
    }

    /// Gives an answer to the stages that want to see it: each decides on the answer from the stages below it.
    package func ascend(
        with answer: consuming LoadResponse, after descent: Descent, in context: LoadContext
    ) async throws(LoadError) -> LoadResponse {
        var response = answer
        for place in (0..<descent.count).reversed() {
            guard let passage = descent.passage(at: place, for: response) else { continue }
            response = try await stages[position + place].answered(
                response, to: descent.request(to: place), after: passage, in: context,
                next: rest(below: position + place))
        }
        return response
    }

    /// Tells the stages above the calling one which fields a server has sent in an answer that the calling stage does
    /// not return, from the bottom up.
    ///
    /// - Returns: the request as it is to be sent if the calling stage sends it again.
    @discardableResult
    package func tellAbove(
        _ fields: HTTPFields, answering request: LoadRequest, in context: LoadContext
    ) async -> LoadRequest {
        var request = request
        // The calling stage is the one before this chain's first.
        for stage in stages.prefix(max(0, position - 1)).reversed() {
            guard let listener = stage as? any SentFieldsStage else { continue }
            request = await listener.heard(fields, answering: request, in: context)
        }
        return request
    }

    private func rest(below place: Int) -> LoadChain { LoadChain(stages: stages, position: place + 1) }

    /// The stages' decisions without sending, from the top down.
    package func explain(
        _ request: LoadRequest, in context: LoadContext, into explanation: inout LoadExplanation
    ) async {
        var request = request
        for stage in stages[position...] { await stage.explain(&request, in: context, into: &explanation) }
    }
}

/// A request on its way past stages that do not run, and what they said of it.
package struct Descent: Sendable {
    private struct Step: Sendable {
        let interests: AnswerInterests
        let note: (any Sendable)?
        /// As the request reached the stage; nil if the stage did not change it.
        let before: LoadRequest?
    }

    /// The request for the next stage.
    package private(set) var request: LoadRequest
    private var steps: [Step] = []
    /// The answers that any of the stages wants to see.
    private var interests: AnswerInterests = []
    /// The cache's result, if the cache was passed.
    private var cacheResult: CacheResult?

    init(_ request: LoadRequest, stages: Int) {
        self.request = request
        steps.reserveCapacity(stages)
    }

    /// How many stages were passed.
    var count: Int { steps.count }

    mutating func pass(_ passage: consuming LoadPassage) {
        interests.formUnion(passage.interests)
        if let result = passage.cacheResult { cacheResult = result }
        var before: LoadRequest?
        if var changed = passage.request.take() {
            swap(&request, &changed)
            before = consume changed
        }
        steps.append(Step(interests: passage.interests, note: passage.note, before: before))
    }

    /// Notes the cache's result in an answer.
    ///
    /// - Returns: whether any of the stages wants to see it.
    package func isWanted(_ response: inout LoadResponse) -> Bool {
        if let cacheResult { response.facts.cache = cacheResult }
        return !AnswerInterests(of: response, among: interests).isEmpty
    }

    /// What the stage at a position said of the request; nil if it does not want to see the answer.
    func passage(at place: Int, for response: LoadResponse) -> LoadPassage? {
        let step = steps[place]
        guard !step.interests.isEmpty, !AnswerInterests(of: response, among: step.interests).isEmpty else { return nil }
        return .passes(watching: step.interests, note: step.note)
    }

    /// The request as it reached the stage at a position. The additions of lower stages, such as this server's cookies,
    /// do not concern that stage, and a redirect would send them to the next server.
    func request(to place: Int) -> LoadRequest {
        steps[place...].lazy.compactMap(\.before).first ?? request
    }
}

/// The answers that a stage wants to see after it has passed the request: ``LoadPassage/passes(watching:as:note:)``.
///
/// An answer that no stage wants to see is returned to the caller at once.
public struct AnswerInterests: OptionSet, Sendable, Hashable {
    public let rawValue: UInt16
    /// A set from its bits; those that this type does not name match no answer.
    @inlinable
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Every answer.
    @inlinable public static var every: AnswerInterests { AnswerInterests(rawValue: 1 << 0) }
    /// 301, 302, 303, 307 and 308.
    @inlinable public static var redirects: AnswerInterests { AnswerInterests(rawValue: 1 << 1) }
    /// 401.
    @inlinable public static var unauthorized: AnswerInterests { AnswerInterests(rawValue: 1 << 2) }
    /// 400 to 499.
    @inlinable public static var clientErrors: AnswerInterests { AnswerInterests(rawValue: 1 << 3) }
    /// 500 to 599.
    @inlinable public static var serverErrors: AnswerInterests { AnswerInterests(rawValue: 1 << 4) }
    /// With `Set-Cookie` among the fields that the server sent now (``LoadAnswer/fieldsSentNow``).
    @inlinable public static var cookies: AnswerInterests { AnswerInterests(rawValue: 1 << 5) }
    /// With `Content-Encoding`.
    @inlinable public static var codings: AnswerInterests { AnswerInterests(rawValue: 1 << 6) }
    /// With a field because of which a cache might store the answer (`Cache-Control`, `ETag`, `Expires`,
    /// `Last-Modified`), and without a plain `no-store`. Never 304, which refers to another answer.
    @inlinable public static var storable: AnswerInterests { AnswerInterests(rawValue: 1 << 7) }

    private static let ofFields: AnswerInterests = [.cookies, .codings, .storable]
}

extension AnswerInterests {
    /// The interests that match a response.
    package init(of response: LoadResponse, among wanted: AnswerInterests) {
        self.init(of: response.head, sentNow: response.facts.sentNow, among: wanted)
    }

    /// - Parameter sent: the fields that the server sent now; nil if they are the head's.
    init(of head: HTTPResponse, sentNow sent: HTTPFields?, among wanted: AnswerInterests) {
        let status = head.status.code
        var found = AnswerInterests(status: status)
        if !wanted.isDisjoint(with: Self.ofFields) {
            found.formUnion(AnswerInterests(fields: head.headerFields, status: status))
            // A stored head contains the cookies of an earlier exchange.
            if let sent {
                found.remove(.cookies)
                if sent.contains(.setCookie) { found.insert(.cookies) }
            }
        }
        self = found.intersection(wanted)
    }

    private init(status code: Int) {
        self =
            switch code {
            case 301, 302, 303, 307, 308: [.every, .redirects]
            case 401: [.every, .unauthorized, .clientErrors]
            case 400..<500: [.every, .clientErrors]
            case 500..<600: [.every, .serverErrors]
            default: .every
            }
    }

    /// Checks each field once, beginning with the length of its name, which excludes most fields.
    package init(fields: HTTPFields, status code: Int) {
        self = []
        var (mayBeStored, isForbidden) = (false, code == 304)
        for field in fields {
            let name = field.name
            switch name.canonicalName.utf8.count {
            case 4: if name == .eTag { mayBeStored = true }
            case 7: if name == .expires { mayBeStored = true }
            case 10: if name == .setCookie { insert(.cookies) }
            case 13:
                if name == .cacheControl {
                    mayBeStored = true
                    if Self.forbidStoring(field.value) { isForbidden = true }
                } else if name == .lastModified {
                    mayBeStored = true
                }
            case 16: if name == .contentEncoding { insert(.codings) }
            default: break
            }
        }
        if mayBeStored, !isForbidden { insert(.storable) }
    }

    /// Whether a line of `Cache-Control` clearly contains `no-store`, so that nothing else in the answer matters:
    /// without a quote that might enclose it, and without `must-understand`, which may override it (RFC 9111 §5.2.2.3).
    package static func forbidStoring(_ line: String) -> Bool {
        if line == "no-store" { return true }
        guard mayNameNoStore(line) else { return false }
        var isFound = false
        for item in line.utf8.split(separator: UInt8(ascii: ",")) {
            let name = Substring(item).trimming { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            guard name.utf8.count <= 32, !name.utf8.contains(UInt8(ascii: "\"")) else { return false }
            switch name.lowercased() {
            case "no-store": isFound = true
            case "must-understand": return false
            default: break
            }
        }
        return isFound
    }

    /// Whether the text occurs anywhere in the line, in upper or lower case: it does not in most lines, and they need
    /// not be taken apart.
    private static func mayNameNoStore(_ line: String) -> Bool {
        let (bytes, word) = (line.utf8.span, "no-store".utf8.span)
        guard bytes.count >= word.count else { return false }
        for start in 0...(bytes.count - word.count) {
            var count = 0
            while count < word.count, bytes[start + count] | 0x20 == word[count] { count += 1 }
            if count == word.count { return true }
        }
        return false
    }
}
