internal import HTTPTypes
internal import SallyportCore
internal import SallyportLoading

/// Whether an answer may be stored, and which parts of it (RFC 9111 §3), in a private cache inside the app.
struct StorageRules {
    enum Verdict: Equatable {
        case store
        /// The answer or its request forbids it, or it could never be reused.
        case refuse
    }

    /// Whether storing could be useful: without an expiry date, an age or a validator, an answer is never reused. Most
    /// answers of services have none of these, and this quick check is all that they cost.
    static func isWorthALook(_ head: HTTPResponse) -> Bool {
        AnswerInterests(fields: head.headerFields, status: head.status.code).contains(.storable)
    }

    /// Whether a line of `Cache-Control` clearly contains `no-store`, so that nothing else in the answer matters. Any
    /// other spelling is parsed by ``CacheControl``.
    static func isForbidden(by line: String) -> Bool { AnswerInterests.forbidStoring(line) }

    /// - Parameters:
    ///   - terms: the request's conditions.
    ///   - control: the answer's directives.
    static func verdict(
        on head: HTTPResponse, _ control: CacheControl, to terms: RequestTerms, received: CacheTime
    ) -> Verdict {
        guard !terms.control.noStore, isStorable(head, control, terms) else { return .refuse }
        guard Variation.names(in: head.headerFields) != nil else { return .refuse }
        return isUseful(head, control, received) ? .store : .refuse
    }

    private static func isStorable(_ head: HTTPResponse, _ control: CacheControl, _ terms: RequestTerms) -> Bool {
        let status = head.status
        guard isStorable(status), !control.noStore || (control.mustUnderstand && isUnderstood(status)),
            !control.mustUnderstand || isUnderstood(status)
        else { return false }
        switch status.code {
        case 206: return ContentRange(of: head.headerFields) != nil && Validators(head.headerFields).strongTag != nil
        case 200: break
        default: guard terms.conditions.isEmpty, !terms.hasRange else { return false }
        }
        return control.isPublic || control.isPrivate || control.maxAge != nil || head.headerFields.contains(.expires)
            || Freshness.allowsGuess(status)
    }

    /// Never for challenges of servers and proxies, for the confirmation of a stored answer, or for failures that
    /// depend on the time of the request.
    static func isStorable(_ status: HTTPResponse.Status) -> Bool {
        (200...599).contains(status.code) && ![304, 401, 407, 412, 416, 417, 421].contains(status.code)
    }

    /// The statuses that this cache understands (§3: "must-understand").
    static func isUnderstood(_ status: HTTPResponse.Status) -> Bool {
        [200, 203, 204, 206, 300, 301, 302, 303, 307, 308, 404, 405, 410, 414, 501].contains(status.code)
    }

    /// Whether it can be reused without validation at least once, or can be validated.
    private static func isUseful(_ head: HTTPResponse, _ control: CacheControl, _ received: CacheTime) -> Bool {
        if !Validators(head.headerFields).isEmpty { return true }
        guard !control.noCache else { return false }
        let lifetime = Freshness(of: head, control, received: received).lifetime
        return lifetime > 0 || control.staleIfError ?? 0 > 0 || control.staleWhileRevalidate ?? 0 > 0
    }
}

extension StorageRules {
    /// Fields that describe one connection (RFC 9110 §7.6.1), or that a proxy on the way has added (§3.1). All others
    /// are stored.
    static let excluded: Set<HTTPField.Name> = [
        .connection, .keepAlive, .te, .transferEncoding, .upgrade, .proxyConnection, .proxyAuthenticate,
        .proxyAuthenticationInfo, .proxyAuthorization,
    ]

    /// The fields to be stored: all except those in ``excluded``, those that `Connection` names, and those that
    /// `no-cache` names.
    static func stored(_ fields: HTTPFields, _ control: CacheControl) -> HTTPFields {
        let named = fields[values: .connection].flatMap { $0.split(separator: ",") }
        let ofConnection = Set(named.compactMap { HTTPField.Name(String($0).trimmed) })
        var result = HTTPFields()
        for field in fields where !excluded.contains(field.name) {
            guard !ofConnection.contains(field.name), !control.noCacheFields.contains(field.name) else { continue }
            result.append(field)
        }
        return result
    }
}

extension HTTPField.Name {
    static let keepAlive = known("Keep-Alive")
    static let proxyConnection = known("Proxy-Connection")
    static let pragma = known("Pragma")

    private static func known(_ text: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is a field name.") }
        return name
    }
}
