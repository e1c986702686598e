internal import Logging
internal import SallyportBase
internal import SallyportCore
internal import Synchronization

/// The result of looking up a request's cookies.
enum CookieField {
    case none
    case bytes([UInt8])
    /// The cookies must be read from the store first.
    case notLoaded
}

extension CookieJar {
    /// Whether there is no cookie of any principal, as in most jars of services.
    nonisolated var holdsNone: Bool { count.load(ordering: .acquiring) == 0 }

    /// The `Cookie` field of a request. Costs nothing if there is no cookie at all, and never waits.
    nonisolated func field(for request: CookieRequest, of principal: Principal) -> CookieField {
        let count = count.load(ordering: .acquiring)
        guard count != 0 else { return .none }
        guard count > 0 else { return .notLoaded }
        var field: [UInt8]?
        // Together with its effects: a use that is noted later would bring a cookie back that was removed meanwhile.
        change { state in
            var effects: [CookieTable.Effect] = []
            field = state.table.field(for: request, of: principal, now: clock, &effects)
            return effects
        }
        return field.map { .bytes($0) } ?? .none
    }

    /// Stores the cookies of an answer; returns how many were accepted.
    nonisolated func receive(
        _ fields: [[UInt8]], for request: CookieRequest, of principal: Principal, requestID: UInt64 = 0
    ) -> Int {
        let now = clock()
        var taken = 0
        for field in fields {
            do throws(CookieRefusal) {
                let cookie = try CookieRules().cookie(from: SetCookie(field), for: request, at: now)
                try set([cookie], of: principal, isSecure: request.isSecure, at: now)
                taken += 1
            } catch {
                logger.debug(
                    "A cookie is refused.", metadata: ["request": "\(requestID)", "reason": "\(error.rawValue)"])
            }
        }
        return taken
    }

    /// - Parameter isSecure: whether they came over a secure connection, or from the app.
    nonisolated func set(
        _ cookies: [CookieEntry], of principal: Principal, isSecure: Bool, at now: Int64
    ) throws(CookieRefusal) {
        var refusal: CookieRefusal?
        change { state in
            guard state.isLoaded else { return [] }
            var effects: [CookieTable.Effect] = []
            for cookie in cookies {
                do throws(CookieRefusal) {
                    try state.table.set(cookie, of: principal, isSecure: isSecure, at: now, &effects)
                } catch {
                    refusal = error
                }
            }
            state.table.removeExcess(at: now, &effects)
            return effects
        }
        if let refusal { throw refusal }
    }
}
