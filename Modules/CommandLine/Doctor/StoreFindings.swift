import SallyportAuthorization
import SallyportCore

/// Findings from the store itself: values only.
enum StoreFindings {
    /// - Parameter now: Unix seconds.
    static func of(_ stored: StoredAuthorization, _ contact: StoredContact?, at now: Int64) -> [Finding] {
        guard let contact else {
            return [
                .failed(
                    .activation, .notAuthorized, "The store is not activated.",
                    "ask the administrator for an activation link, and use it with 'sallyport activate'")
            ]
        }
        let name = "\(stored.entitlement ?? "?") as \(stored.instance ?? "?") for \(stored.user ?? "?")"
        return [.ok(.activation, "Activated: \(name).")] + [certificate(contact, at: now)]
            + configuration(stored, contact, at: now)
    }

    static func certificate(_ contact: StoredContact, at now: Int64) -> Finding {
        let (start, end) = (contact.validity.lowerBound, contact.validity.upperBound)
        if now < start {
            return .failed(
                .certificate, .notAuthorized,
                "The instance's certificate is not valid yet, for another \(span(start - now)).",
                "set this machine's clock: it seems to be behind")
        }
        if now > end + StoredContact.renewalGrace {
            return .failed(
                .certificate, .notAuthorized,
                "The instance's certificate expired \(span(now - end)) ago, too long to be renewed.",
                "ask the administrator for an activation link, and activate a new store")
        }
        if now > end {
            return .failed(
                .certificate, .notAuthorized, "The instance's certificate expired \(span(now - end)) ago.",
                "start the app: it renews the certificate when it authorizes; or set the clock, if it is ahead")
        }
        if now > contact.renewalTime {
            return .warning(
                .certificate, "The instance's certificate expires in \(span(end - now)) and is due for renewal.",
                "let the app run with its background work (run()), which renews it")
        }
        return .ok(.certificate, "The instance's certificate is valid for \(span(end - now)).")
    }

    private static func configuration(
        _ stored: StoredAuthorization, _ contact: StoredContact, at now: Int64
    ) -> [Finding] {
        guard let policy = contact.policy else {
            return [
                .warning(
                    .configuration, "No configuration is stored that verifies.",
                    "start the app once while the gateway can be reached"),
                .skipped(.lease, "There is no lease without a configuration."),
            ]
        }
        let known = Finding.ok(.configuration, "The configuration of epoch \(policy.epoch) is stored.")
        switch stored.state {
        case .locked, .wiped:
            guard now >= policy.leaseEnd else { return [known] + [withdrawn(.lease, stored.state)] }
            return [
                known,
                .failed(
                    .lease, .notAuthorized, "The lease ended \(span(now - policy.leaseEnd)) ago (-301).",
                    "the app works again once it has reached its gateway: see the checks below"),
            ]
        default:
            return [known, .ok(.lease, "Without the gateway the app works for \(span(policy.leaseEnd - now)).")]
        }
    }

    static func withdrawn(_ check: Finding.Check, _ state: AuthorizationState) -> Finding {
        let code = "\(state.code.name) (\(state.code.rawValue))"
        switch state {
        case .wiped:
            return .failed(
                check, .notAuthorized, "The administrator withdrew the instance for good: \(code).",
                "a new activation is needed: ask the administrator for a link")
        case .locked(.appVersionNotEntitled):
            return .failed(
                check, .notAuthorized, "The user is not entitled to the instance's version of the app: \(code).",
                "ask the administrator to entitle the user to it: see the version with 'sallyport status'")
        default:
            return .failed(
                check, .notAuthorized, "The instance is blocked or locked: \(code).",
                "ask the administrator, who sees it in 'sallyport admin instances'")
        }
    }

    /// A duration in the largest unit of which there are at least two.
    static func span(_ seconds: Int64) -> String {
        let seconds = max(0, seconds)
        for (length, unit) in [(86_400 as Int64, "days"), (3600, "hours"), (60, "minutes")] where seconds >= 2 * length
        {
            return "\(seconds / length) \(unit)"
        }
        return "\(seconds) s"
    }
}
