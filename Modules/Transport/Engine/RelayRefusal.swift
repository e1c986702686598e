internal import RawStructuredFieldValues
internal import SallyportCore

/// A relay's refusal of CONNECT: the underlying error of `relayRefused`.
package struct RelayRefusal: Error, Sendable, Hashable {
    /// The longest time for which a relay is tried last because its `Retry-After` says so.
    package static let longestAvoidance = Duration.seconds(300)

    package let status: Int
    /// The field of that name (RFC 9209).
    package let proxyStatus: String?
    /// The error type (RFC 9209 §2.3) that the relay has given; nil for none.
    package let error: String?
    /// For how long the relay that refused is tried last, because it cannot open tunnels itself; nil if nothing says
    /// that it is the reason.
    package let avoidance: Duration?

    /// - Parameter retryAfter: the value of that field, if it is a number of seconds.
    package init(status: Int, proxyStatus: String?, retryAfter: Duration? = nil) {
        (self.status, self.proxyStatus) = (status, proxyStatus)
        error = proxyStatus.flatMap(Self.errorType)
        let isOwn = error.map(Self.ownErrors.contains) ?? false
        let isAvoided = status == 503 && (isOwn || retryAfter != nil)
        avoidance = isAvoided ? min(retryAfter ?? FailoverOrder.penalty, Self.longestAvoidance) : nil
    }

    /// The relay's own time-out.
    package var isTimeout: Bool { status == 504 }
    /// Whether the relay's policy forbids the connection.
    package var isForbidden: Bool { status == 403 }
    /// Whether the policy forbids the connection, or the address to which the server's name leads.
    package var isByPolicy: Bool { isForbidden || error == "destination_ip_prohibited" }

    /// Whether another relay may open the tunnel that this one does not. One that answers 503 and says no more, as Squid
    /// and Apache do of a server too, is no reason to avoid it.
    var isWorthAnotherRelay: Bool { status == 503 && error != "destination_unavailable" }

    /// The error types (RFC 9209 §2.3) of a proxy that cannot serve now.
    private static let ownErrors: Set<String> = [
        "connection_limit_reached", "proxy_internal_error", "proxy_configuration_error",
    ]

    /// The error type of the last member of `Proxy-Status`, which is of the proxy that answered (RFC 9209 §2); nil also for
    /// a value that is no list.
    private static func errorType(in proxyStatus: String) -> String? {
        var parser = StructuredFieldValueParser(Array(proxyStatus.utf8))
        guard case .item(let item)? = try? parser.parseListFieldValue().last else { return nil }
        switch item.rfc9651Parameters["error"] {
        case .token(let type), .string(let type): return type
        default: return nil
        }
    }
}
